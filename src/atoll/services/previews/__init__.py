"""Previews of servers inside sandboxes: their builds, and the visits of browsers to them."""
