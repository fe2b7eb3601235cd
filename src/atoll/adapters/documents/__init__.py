"""Adapters of shared documents."""
