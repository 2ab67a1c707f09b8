"""Triton's remove-layout-conversions, step by step, by the rules of each era of the compiler."""
