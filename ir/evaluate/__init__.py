"""What operators mean: MIGraphX's vocabulary in NumPy, for constant folding and the reference executor."""
