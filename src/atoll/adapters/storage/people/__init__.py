"""Tables and rows of people: organizations, quotas, tokens, links and logins."""
