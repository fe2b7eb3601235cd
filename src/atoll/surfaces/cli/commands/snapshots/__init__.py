"""Commands about snapshots and forks."""
