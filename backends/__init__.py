"""Where programs really run, and the real compilers."""
