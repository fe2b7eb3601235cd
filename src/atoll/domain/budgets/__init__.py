"""Budgets: amounts of money for a time, whom they bind, and what is refused once they are spent."""
