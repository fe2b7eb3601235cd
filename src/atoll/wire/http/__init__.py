"""HTTP and TLS as bytes: strict readers and writers."""
