"""Programs run to their end: separate streams, bounded memory. HTTP stands in `routes` alone."""
