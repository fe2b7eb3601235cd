"""Rules of one terminal: who drives it, when its output must wait."""
