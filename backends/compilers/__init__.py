"""The real compilers, each asked in a child process: a failing assertion ends only the child."""
