"""Measurements, printed as ratios to peers of the same run; nothing here is a test."""
