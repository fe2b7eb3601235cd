"""People: logins, share links and guests."""
