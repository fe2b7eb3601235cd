"""Rows that an overview reads across the nouns."""
