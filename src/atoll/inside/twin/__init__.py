"""The init in plain Python, for machines without a compiler; `native/init` documents the design.

It imports nothing of Atoll and nothing outside the standard library. `python3 -I -S` runs it inside
any sandbox, packed as one file by `inside.program`. It is slower and bigger than the C one, and the
same in every other way: one suite tests both.
"""
