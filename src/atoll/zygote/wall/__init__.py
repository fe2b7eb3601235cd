"""The wall: namespaces, filters, control groups, roots."""
