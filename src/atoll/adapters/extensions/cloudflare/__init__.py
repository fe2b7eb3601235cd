"""Sandboxes on containers of Cloudflare, by a Worker of one's own (`deploy/cloudflare`)."""
