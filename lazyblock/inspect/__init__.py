"""Seeing inside: dumps and logs. Listens to `events`; nothing depends on it."""

from lazyblock.inspect import dump, logs


def start_listeners() -> None:
    """Listen as LAZYBLOCK_DUMP and LAZYBLOCK_LOGS ask for."""
    dump.start_from_environment()
    logs.start_from_environment()
