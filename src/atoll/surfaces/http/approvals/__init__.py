"""Routes of approvals."""
