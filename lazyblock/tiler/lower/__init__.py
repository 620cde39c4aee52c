"""Fusion group and schedule to block program."""
