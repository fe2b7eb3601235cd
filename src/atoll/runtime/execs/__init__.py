"""Programs run to their end: separate streams, bounded memory. Only `runtime.api` speaks HTTP."""
