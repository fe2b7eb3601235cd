"""Workers: any agent behind one durable contract, as pure rules."""
