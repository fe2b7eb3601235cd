"""Formats of contents: bundles of pieces, manifests, and files of exported contents."""
