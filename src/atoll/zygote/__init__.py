"""The one process that may hold root: a fixed list of verbs on a private socket."""
