"""float32 division of many registers at once: one test for special operands instead of one each.

PTX's own division tests its operands and branches, element by element, which also keeps the others
from overlapping. Here a thread asks once whether all its operands are ordinary numbers, of
magnitudes for which the plain steps round correctly, and divides all of them in one stretch; only
if some is not it uses PTX's division for all. Dividends that are zero, of which real data has many,
are ordinary. Equal divisors share their reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    masks, zero = site.of(int1), site.constant(0.0)
    are_zero = {x: site.do("fcmp oeq", x, zero) for x in dict.fromkeys(dividends)}
    magnitudes = _magnitudes(site, divisors)
    conditions = _are_ordinary(site, magnitudes.values())
    magnitudes = _magnitudes(site, dividends)
    one = site.constant(1.0)
    conditions += _are_ordinary(
        site, [site.select(are_zero[x], one, size) for x, size in magnitudes.items()]
    )
    condition = conditions[0]
    for other in conditions[1:]:
        condition = masks.do("and", condition, other)
    emitter.branch_if(condition, plain, careful)
    emitter.begin(plain)
    fast = [
        site.select(are_zero[x], site.do("fmul", x, y), divide_normal(site, x, y)) for x, y in pairs
    ]
    emitter.branch(after)
    emitter.begin(careful)
    slow = [site.do("fdiv", x, y) for x, y in pairs]
    emitter.branch(after)
    emitter.begin(after)
    return [
        emitter.phi(site.type, (quick, plain), (slowly, careful))
        for quick, slowly in zip(fast, slow, strict=True)
    ]


def _magnitudes(site: Site, values: Iterable[str]) -> dict[str, str]:
    return {value: site.call("fabs", value) for value in dict.fromkeys(values)}


def _are_ordinary(site: Site, magnitudes: Iterable[str]) -> list[str]:
    """Conditions under which all lie between _SMALLEST and _LARGEST, and none is NaN."""
    least, *others = magnitudes
    total = least
    for magnitude in others:
        least = site.call("minnum", least, magnitude)
        total = site.do("fadd", total, magnitude)
    return [
        site.do("fcmp oge", least, site.constant(_SMALLEST)),
        site.do("fcmp ole", total, site.constant(_LARGEST)),
    ]
