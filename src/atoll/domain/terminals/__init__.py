"""Rules of one terminal: control, and the flow of its output."""
