"""A block program as readable text in the block language: what dumps show and people edit."""

from lazyblock.language.unparse.names import to_identifier
from lazyblock.language.unparse.source import HEADER, launch_hints, unparse

__all__ = ["HEADER", "launch_hints", "to_identifier", "unparse"]
