"""`atoll extension check`: the suites, run against an extension as it is installed."""
