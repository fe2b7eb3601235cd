"""The commands, in folders by the groups that `atoll --help` shows."""
