"""Tables and rows of the logins of agents."""
