"""The server around the routes: the application, authentication, problems, the page."""
