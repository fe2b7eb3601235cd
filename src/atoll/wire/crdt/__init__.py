"""Bytes of shared documents as Yjs and its providers write them (lib0, y-protocols)."""
