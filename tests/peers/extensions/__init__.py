"""Extensions of another project, as packages that a home finds installed."""
