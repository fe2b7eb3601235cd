"""Terminal output as bytes: its parser, its state, its scrollback, recordings of it."""
