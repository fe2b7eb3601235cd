"""Several control planes of one home: what they do together, and what no failure may break."""
