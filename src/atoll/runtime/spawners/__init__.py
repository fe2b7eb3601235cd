"""How a process is started in a sandbox: adapters of `ports.Spawner`."""
