"""Files of people at their drives."""
