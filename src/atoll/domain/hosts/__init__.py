"""Hosts: the machines that sandboxes are placed on, their capacity, and the choice among them."""
