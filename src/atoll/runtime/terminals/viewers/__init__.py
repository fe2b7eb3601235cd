"""Those at one terminal: attach sessions, their sockets, and what each may still receive."""
