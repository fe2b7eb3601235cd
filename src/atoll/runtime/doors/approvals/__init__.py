"""Where programs inside request approvals."""
