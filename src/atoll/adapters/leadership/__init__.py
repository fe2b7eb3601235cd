"""Elections of the leader among control planes."""
