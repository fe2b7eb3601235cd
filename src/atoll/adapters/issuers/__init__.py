"""Issuers of agents' logins, by OAuth."""
