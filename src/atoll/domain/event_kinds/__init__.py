"""The kinds of events, as tables: each is a name, the fields of its payload, and a sentence."""
