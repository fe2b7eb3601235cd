"""What holds for every test here."""

from hypothesis import settings

# A slow example on a busy machine is no wrong answer; whole tests have their own timeout.
settings.register_profile("atoll", deadline=None)
settings.load_profile("atoll")
