"""The use cases of the control plane: async services that await ports, perform instructions and
append events."""
