"""Store ports of the library: profiles, project files, and pull orders."""
