"""passlens: a debugger for the programs that GPU machine-learning compilers make."""

__version__ = "0.1.0"
