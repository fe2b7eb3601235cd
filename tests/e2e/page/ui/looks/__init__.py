"""Browser tests of what teams add to the page; a scripted server plays the organization."""
