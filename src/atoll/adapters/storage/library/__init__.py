"""Tables and rows of the library: profiles, project files, and pull orders."""
