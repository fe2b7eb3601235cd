"""The egress door: an HTTP proxy for the destinations that the policy allows."""
