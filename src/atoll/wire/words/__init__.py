"""Words and bounds of the public API, an area a module, by the standard library alone.

The domain, the declarations of the API and the client use them.
"""
