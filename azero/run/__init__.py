"""A run's folder: atomic files, the lock, and `state.json`, the single commit point.

For others: `run.Run`, the records of `state`, `folder.Paths`.
Imports: config.
"""
