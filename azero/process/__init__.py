"""What one process needs: seeds, signals, the cores of the machine, the files of compiled code.

For others: `seeds`, `signals.StopSignal`, `machine.cores`, `ending`.
Imports: nothing.
"""
