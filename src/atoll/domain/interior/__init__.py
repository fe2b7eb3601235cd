"""The interior of a sandbox that needs both its wall and its agents: /etc, and foreign walls."""
