"""Implementations of the WorkspacePreparer port that need no repositories."""
