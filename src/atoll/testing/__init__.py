"""Contract suites and stand-ins for people who write adapters. Nothing here runs in production.

Each suite is a class of `test_` methods: subclass it, give it the fixtures its docstring
names, and pytest runs it. Import the module you need; this package imports none of them.
"""
