"""Git bundles and pushes as bytes."""
