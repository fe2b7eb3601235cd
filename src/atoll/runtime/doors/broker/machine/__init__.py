"""The pure state machines of the broker: bytes and stimuli in, events and instructions out.

No module here knows asyncio, sockets, keys or rules.
"""
