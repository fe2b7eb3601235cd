"""Tables and rows of tools' clients."""
