"""What one process needs: seeds, signals, the cores of the machine.

For others: `seeds`, `signals.StopSignal`, `machine.cores`, `ending`.
Imports: nothing.
"""
