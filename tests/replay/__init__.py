"""Replays of recorded terminals, judged by a real emulator."""
