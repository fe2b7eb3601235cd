"""A day of one home with every kind of sandbox that a machine can give, in minutes."""
