"""The table of calls, a theme in each file: CALLS, and FUSED, which are one kernel.

Calls of functions that are not offered are left out; docs/numpy_coverage.md says "no" then.
"""

from tests.helpers.numpy_calls import is_offered
from tests.tracer.numpy_cases import (
    arranging,
    complex_operands,
    edges,
    folding,
    numerical,
    ordering,
    selecting,
    statistics,
    ufuncs,
)

_THEMES = [arranging, complex_operands, edges, folding, numerical, ordering, selecting, statistics]
_THEMES += [ufuncs]
CALLS = [call for theme in _THEMES for call in theme.CALLS if is_offered(call.name)]
FUSED = [call for theme in _THEMES for call in theme.FUSED]
