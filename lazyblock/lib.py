"""`lb.lib.stride_tricks`: where NumPy keeps `sliding_window_view` and libraries look for it."""

from __future__ import annotations

from types import SimpleNamespace

from lazyblock.tracer.convolutions import sliding_window_view

stride_tricks = SimpleNamespace(sliding_window_view=sliding_window_view)
