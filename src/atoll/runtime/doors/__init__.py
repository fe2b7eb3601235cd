"""The two ways out of a sandbox, served from outside its wall."""
