"""Admission of hosts to a run: batches, canaries and barriers. All of it is sans-I/O."""
