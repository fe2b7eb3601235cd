"""The Store port: durable state in transactions, with the rows of each noun in a module."""
