"""Interfaces of virtual modules (SMI)."""
