"""Rewrites of block programs, one theme per file; `pipeline.py` orders them.

A pass is a function `name(program, ...) -> program`. It relies on a verified program and gives one,
returns the same object when nothing changed and leaves its input alone.
"""
