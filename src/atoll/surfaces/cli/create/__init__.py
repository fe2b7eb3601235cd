"""Parts of `atoll new`: its request, and the tasks it gives to agents."""
