"""Classes of the messages of workers, generated from `proto/` by `scripts/proto`.

Tests and programs that speak to workers use them (the extra `protocol`). Runtimes, zygote and the
core never load them, as protobuf takes 7 MiB.
"""
