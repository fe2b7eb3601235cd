"""The static programs that run inside the wall (`bin`, built from `native/`), and their places."""
