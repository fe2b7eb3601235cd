"""Disks, images and host folders of sandboxes."""
