"""Ordinary array code for NumPy and lazyblock arrays; start one with `python -m examples.photo`."""
