"""Previews over HTTP: their routes, and the gate that serves them at names of their own."""
