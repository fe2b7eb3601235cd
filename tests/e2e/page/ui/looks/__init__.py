"""Browser tests of the looks of the page: its language, its parts, and audits of its routes."""
