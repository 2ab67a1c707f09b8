"""What people and CI see: the command line and the terminal screens."""
