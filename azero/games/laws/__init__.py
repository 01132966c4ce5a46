"""What every game must keep, and the checks of it.

For others: `check.check_game`, `check.check_own_game`.
Imports: config, games.kit, games.
"""
