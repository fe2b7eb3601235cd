"""One folder per port: the outside world, translated."""
