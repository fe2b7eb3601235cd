"""The Store port on SQL: SQLite (WAL) as the embedded default, PostgreSQL by URL.

Only this package knows SQL. It knows no rule of a sandbox's life.
"""
