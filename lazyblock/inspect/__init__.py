"""Seeing inside: dumps and logs. Listens to `events`; nothing depends on it."""
