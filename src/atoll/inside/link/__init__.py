"""The far end of the link in plain Python, for machines without a compiler.

docs/program/link.md describes it, and `native/link` is the same in C: one suite tests both. It
imports the standard library and `wire/link`, which `inside.program` packs beside it.
"""
