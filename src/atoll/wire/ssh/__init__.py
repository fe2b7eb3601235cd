"""Bytes of SSH: keys and certificates of OpenSSH."""
