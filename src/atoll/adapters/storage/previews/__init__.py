"""Tables and rows of previews."""
