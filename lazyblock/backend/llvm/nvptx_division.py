"""float32 division of many registers at once: one test for special operands instead of one each.

PTX's own division tests its operands and branches, element by element, which also keeps the others
from overlapping. Here a thread asks once whether all its operands are ordinary numbers, of
magnitudes for which the plain steps round correctly, and divides all of them in one stretch; only
if some is not (zeros among dividends included) it uses PTX's division for all. Equal divisors share
their reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.rules import divide_normal
from lazyblock.backend.llvm.site import Site
from lazyblock.target import Target
from lazyblock.tiler.types import float32, int1

_MOST = 8  # divisions under one test: more need many registers at once
_SMALLEST, _LARGEST = 2.0**-60, 2.0**60  # quotients and their exact remainders stay normal numbers


def emit_divisions(
    emitter: Emitter, target: Target, dividends: Sequence[str], divisors: Sequence[str]
) -> list[str]:
    """Divide pairs of float32 scalars; rounds as IEEE division does."""
    site = Site(emitter, target, float32, 1)
    pairs = list(zip(dividends, divisors, strict=True))
    groups = (pairs[first : first + _MOST] for first in range(0, len(pairs), _MOST))
    return [quotient for group in groups for quotient in _divide_together(site, group)]


def _divide_together(site: Site, pairs: Sequence[tuple[str, str]]) -> list[str]:
    emitter = site.emitter
    dividends, divisors = zip(*pairs, strict=True)
    plain, careful, after = (emitter.fresh_label(hint) for hint in ("plain", "careful", "after"))
    conditions = [*_are_ordinary(site, dividends), *_are_ordinary(site, divisors)]
    masks = site.of(int1)
    condition = conditions[0]
    for other in conditions[1:]:
        condition = masks.do("and", condition, other)
    emitter.branch_if(condition, plain, careful)
    emitter.begin(plain)
    fast = [divide_normal(site, x, y) for x, y in pairs]
    emitter.branch(after)
    emitter.begin(careful)
    slow = [site.do("fdiv", x, y) for x, y in pairs]
    emitter.branch(after)
    emitter.begin(after)
    return [
        emitter.phi(site.type, (quick, plain), (slowly, careful))
        for quick, slowly in zip(fast, slow, strict=True)
    ]


def _are_ordinary(site: Site, values: Iterable[str]) -> list[str]:
    """Conditions under which all magnitudes lie between _SMALLEST and _LARGEST, and none is NaN."""
    magnitudes = [site.call("fabs", value) for value in dict.fromkeys(values)]
    least = total = magnitudes[0]
    for _, magnitude in pairwise(magnitudes):
        least = site.call("minnum", least, magnitude)
        total = site.do("fadd", total, magnitude)
    return [
        site.do("fcmp oge", least, site.constant(_SMALLEST)),
        site.do("fcmp ole", total, site.constant(_LARGEST)),
    ]
