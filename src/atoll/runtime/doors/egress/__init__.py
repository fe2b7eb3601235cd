"""The egress door: an HTTP proxy that lets out what the policy allows."""
