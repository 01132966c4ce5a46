"""What a run keeps on the disk: atomic writes, its state, its folder and lock."""
