from looked_at import chromium, looking

__all__ = ["chromium", "looking"]
