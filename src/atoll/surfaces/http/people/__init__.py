"""Routes of people: logins and share links; and the event log."""
