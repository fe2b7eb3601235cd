"""Recordings of terminals: kept because somebody asked, shown while they run, bounded in size."""
