"""Checks of the rows of a store, one file a noun; `StoreContract` runs each `check_` of them."""
