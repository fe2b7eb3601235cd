"""The client of the zygote, shared by the walls it builds."""
