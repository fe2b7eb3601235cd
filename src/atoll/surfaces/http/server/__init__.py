"""The server around the routes: the application, who may enter, problems, the page."""
