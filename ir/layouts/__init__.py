"""Encodings and the linear layouts that they mean."""
