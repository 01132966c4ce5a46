"""What a run reports: console, TensorBoard, CSV, time left.

For others: `reporter.Reporter`, `console`, `forecast`.
Imports: config, run.
"""
