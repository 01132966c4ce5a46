"""What a person sees of a run: the console, TensorBoard's files, the CSV table, pictures."""
