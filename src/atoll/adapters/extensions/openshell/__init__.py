"""Sandboxes of NVIDIA OpenShell, by its own library (the extra `openshell`)."""
