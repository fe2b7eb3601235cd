"""Browser tests of the page. They never start a real sandbox: `scripted` plays the server."""
