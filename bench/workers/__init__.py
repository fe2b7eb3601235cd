"""Workers: what the durable contract costs beside the agent's own pipe."""
