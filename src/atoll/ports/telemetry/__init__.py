"""The ports of monitoring, none of which raises: a system that is away must fail no request."""
