"""What both doors share: listeners, connections and refusals."""
