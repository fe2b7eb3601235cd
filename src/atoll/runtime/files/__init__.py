"""The file API of a runtime: everything is opened, listed and changed inside, by init."""
