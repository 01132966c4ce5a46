"""What a run reports: console, TensorBoard, CSV, time left, lists of runs.

For others: `reporter.Reporter`, `console`, `forecast`, `listing`.
Imports: config, process, run.
"""
