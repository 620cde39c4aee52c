"""erf, erfc.

erf x = x + x P(x^2) up to 1. erfc x = e^(-x^2) R(t) / (1 + 2 x) for x >= 0, with x^2 as a pair and
t = (x - c) / (x + c); erfc(-x) = 2 - erfc x. erf beyond 1 is 1 - erfc x, in float32 a polynomial.
Coefficients: minimax fits (Remez), the first ones rounded one by one with a new fit of the rest.
"""

from __future__ import annotations

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Value
from lazyblock.tiler.math.exponential import exp_of_pair
from lazyblock.tiler.math.formats import DOUBLE, SINGLE, copy_sign, format_of
from lazyblock.tiler.math.polynomial import polynomial, two_product

# erf(x) / x - 1 in x^2 on [0, 1], error 2^-29.4 and 2^-56 of erf
_NEAR_ZERO = {
    SINGLE: (
        *(0.12837916612625122, -0.3761262595653534, 0.11283578723669052),
        *(-0.026853347197175026, 0.005187162198126316, -0.0007997853099368513),
        *(7.806903886375949e-05,),
    ),
    DOUBLE: (
        *(0.12837916709551256, -0.3761263890318341, 0.11283791670942118),
        *(-0.02686617064308433, 0.005223977607658127, -0.0008548326060717527),
        *(0.0001205529865843241, -1.4924824468850767e-05, 1.6448630821596772e-06),
        *(-1.621833955282245e-07, 1.3764335206494325e-08, -7.880241409243997e-10),
    ),
}
# erf(t + 2.375) for 0.99 <= t + 2.375 <= 3.95, absolute error 2^-24.6
_ERF_CENTRE = 2.375
_ERF_FAR_SINGLE = (
    *(0.9992170929908752, 0.004006613977253437, -0.009516815654933453, 0.013728577643632889),
    *(-0.013122346252202988, 0.008364812470972538, -0.0031455280259251595),
    *(0.0001128446456277743, 0.0006381862331181765, -0.00033335527405142784),
    *(2.2459587853518315e-05, 3.453996396274306e-05, -8.929574505600613e-06),
)
_ERF_IS_ONE = 3.92
# e^(x^2) erfc(x) (1 + 2 x) in t, x from 0 to 10.1 and 27.3, error 2^-25 and 2^-54.2
ERFC_CENTRE = {SINGLE: 2.0, DOUBLE: 4.0}
ERFC_IS_ZERO = {SINGLE: 10.1, DOUBLE: 27.3}
ERFC = {
    SINGLE: (
        *(1.2769783735275269, -0.09276411682367325, -0.16603004932403564),
        *(0.16405726969242096, -0.054217319935560226, -0.008070440031588078),
        *(0.008670909330248833, 0.0013429532991722226, -0.0012677646009251475),
        *(-0.0004315252008382231,),
    ),
    DOUBLE: (
        *(1.2329951186255526, -0.13962111684056322, 0.015379652102604897, 0.06809705425476896),
        *(-0.10103906603549322, 0.09373283499604165, -0.06633036582971405),
        *(0.03716751556788055, -0.016197733862562916, 0.005031969774505046),
        *(-0.0007577745637622855, -0.00019925599092239087, 0.00015062684911237525),
        *(-2.4400172894347355e-05, -1.1235333486969922e-05, 5.7084353787680485e-06),
        *(3.1520279050429486e-07, -8.185787519649504e-07, 5.4328923949494197e-08),
        *(9.993801716698284e-08, -8.064574382235719e-09, -7.743520992190144e-09),
        *(2.205488190524212e-10,),
    ),
}


def erf(b: Builder, x: Value) -> Value:
    """Error function."""
    size = b.abs(x)
    if format_of(x) is SINGLE:
        far = polynomial(b, b.sub(size, _ERF_CENTRE), _ERF_FAR_SINGLE)
        far = b.select(b.compare("gt", size, _ERF_IS_ONE), 1.0, far)
    else:
        far = b.sub(1.0, _erfc_of_size(b, size))
    near = _erf_near_zero(b, size)
    return copy_sign(b, b.select(b.compare("lt", size, 1.0), near, far), x)


def erfc(b: Builder, x: Value) -> Value:
    """1 - erf(x), accurate where that is small."""
    size = b.abs(x)
    far = _erfc_of_size(b, size)
    far = b.select(b.compare("lt", x, 0.0), b.sub(2.0, far), far)
    near = b.sub(1.0, _erf_near_zero(b, x))
    return b.select(b.compare("lt", size, 0.25), near, far)


def _erf_near_zero(b: Builder, x: Value) -> Value:
    return b.fma(x, polynomial(b, b.mul(x, x), _NEAR_ZERO[format_of(x)]), x)


def _erfc_of_size(b: Builder, size: Value) -> Value:
    form = format_of(size)
    limit, centre = ERFC_IS_ZERO[form], ERFC_CENTRE[form]
    size = b.select(b.compare("gt", size, limit), limit, size)
    t = b.div(b.sub(size, centre), b.add(size, centre))
    ratio = b.div(polynomial(b, t, ERFC[form]), b.fma(size, 2.0, 1.0))
    square, square_low = two_product(b, size, size)
    return exp_of_pair(b, b.neg(square), b.neg(square_low), ratio)
