"""Passes as generators of steps, and the debugger that walks them."""
