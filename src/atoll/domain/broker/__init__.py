"""Rules of the broker door: requests, responses, allowances, prices. Pure."""
