"""The asynchronous client for programs. `atoll.client` publishes its names."""
