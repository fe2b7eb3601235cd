"""The agents Atoll knows: one file of data each, found by being here."""
