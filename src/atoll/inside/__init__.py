"""Programs that run inside the wall beside native/init, and their place. The standard
library only.
"""
