"""Structural comparison of two programs and of two traces."""
