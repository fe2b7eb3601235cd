"""Ports of contents: where their blobs lie, and the images they are made of."""
