"""Machines rented from a vendor by the hour: found by their tags, ended by their deadline."""
