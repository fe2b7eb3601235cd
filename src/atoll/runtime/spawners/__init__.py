"""Adapters of `ports.Spawner`, which start processes in a sandbox."""
