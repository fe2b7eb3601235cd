"""Use cases of dashboards: who has which, and the documents that people edit together."""
