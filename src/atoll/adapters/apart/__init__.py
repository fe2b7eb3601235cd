"""Extensions of other people, run apart: their calls have a thread, a deadline and a judge."""
