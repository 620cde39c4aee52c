"""The table of calls, a theme in each file: CALLS, and FUSED, which are one kernel."""

from tests.tracer.numpy_cases import numerical, ordering, selecting, statistics

_THEMES = [numerical, ordering, selecting, statistics]
CALLS = [call for theme in _THEMES for call in theme.CALLS]
FUSED = [call for theme in _THEMES for call in theme.FUSED]
