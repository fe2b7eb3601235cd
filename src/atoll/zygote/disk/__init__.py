"""Disks, images and folders of the host."""
