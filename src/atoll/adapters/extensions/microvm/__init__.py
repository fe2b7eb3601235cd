"""`ext.microvm`: each sandbox in a QEMU machine of its own, without any network device."""
