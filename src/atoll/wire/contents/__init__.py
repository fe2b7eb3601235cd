"""Formats of contents: bundles of pieces, and manifests."""
