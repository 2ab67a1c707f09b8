"""Texts and pictures of what was found, for terminals, pipes and pages."""
