"""Pools: environments that are built before anybody asks for one."""
