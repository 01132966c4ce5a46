"""Training itself, without files: batches and the fit."""
