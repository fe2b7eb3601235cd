"""What the zygote writes down and where things lie."""
