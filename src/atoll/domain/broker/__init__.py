"""What passes the broker with a key: requests, answers, allowances, prices. Pure."""
