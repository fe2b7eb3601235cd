"""Signers of the tokens that other programs can verify."""
