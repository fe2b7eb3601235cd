"""The public API, declared once: an area a module, its Structs and its operations.

HTTP serves the declarations, and the OpenAPI document and the client are made from them. Nothing
here serves, sends or decides.
"""
