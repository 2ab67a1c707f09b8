"""Widgets shared by the screens, one a file."""
