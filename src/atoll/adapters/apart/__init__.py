"""Extensions of other projects: their calls have a thread, a deadline, and checked answers."""
