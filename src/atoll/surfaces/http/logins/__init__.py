"""Routes of logins of agents."""
