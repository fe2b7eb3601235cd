"""Store ports of people: organizations, quotas, tokens, links and logins."""
