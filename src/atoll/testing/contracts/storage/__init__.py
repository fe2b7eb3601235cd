"""Contracts of the storage as a whole; those of its rows are beside, in `rows`."""
