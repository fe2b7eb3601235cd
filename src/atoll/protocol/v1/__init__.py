"""Version 1 of the messages of workers. The other files here are generated: do not edit."""
