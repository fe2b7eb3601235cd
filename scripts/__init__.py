"""The commands that people and CI run, and the modules that some of them are made of."""
