"""Nouns and rules of the field. Pure: state in, instructions out, and no waiting."""
