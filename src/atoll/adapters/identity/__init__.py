"""Login providers: what stands behind the port of identity."""
