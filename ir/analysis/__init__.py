"""Uses, liveness, memory: facts computed from a program."""
