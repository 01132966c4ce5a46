"""What every game must keep, and the checks of it.

For others: `check.check_game`, `check.quick_fault`.
Imports: games.
"""
