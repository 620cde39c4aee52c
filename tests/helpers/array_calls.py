"""The calls that drawn programs are made of, by kind, one a line; here those that compute.

Names in braces are phrases (`array_phrases`), drawn anew in every line; a digit tells two of a
kind apart. EXACT gives values with one right bit pattern, which later lines may use, ROUNDED
values that are compared within a tolerance, which none does. UPDATES are statements.
"""

from tests.helpers import array_rounded, array_updates
from tests.helpers.array_layouts import LARGE_MOVES, PRODUCTS, READS, REARRANGED, VIEWS

# Where NumPy leaves the sign of a zero open, or the order of equal elements, `+ 0` or a stable
# sort makes it one.
_ELEMENTWISE = """
np.negative({x})
np.absolute({x})
np.square({x})
np.invert({x})
np.logical_not({x})
np.sign({x})
np.positive({x})
np.isnan({x})
np.isfinite({x})
np.isinf({x})
np.signbit(np.nan_to_num({x}))
np.floor({x})
np.ceil({x})
np.trunc({x})
np.rint({x})
np.sqrt(np.real({x}))
np.conjugate({x})
np.reciprocal(np.real({x}) / 1)
np.fabs({x})
np.spacing({x})
np.bitwise_count({x})
np.real({x}) + 0
np.imag({x}) + 0
-{x}
+{x}
~{x}
abs({x})
{x} ** 2
{x}.real ** 0.5
np.nan_to_num({x})
np.nan_to_num({x}, nan=1, posinf=2.0, neginf=-3)
np.modf({x})[0]
np.modf({x})[1]
np.frexp({x})[0]
np.ldexp({x}, {int})
np.round({x}.real)
np.isclose({x}, {y})
np.isreal({x})
np.heaviside({x}, {any})
{cast}
{cast}
np.fix(np.real({x}))
np.around({small}, {int})
{x}.round(1)
np.frexp({x})[1]
np.iscomplex({x})
np.isneginf({x})
np.isposinf(np.real({x}))
np.real_if_close({x})
np.bitwise_not({integer})
np.bitwise_count({integer})
-{integer}
~{integer}
abs({integer})
np.square({integer}, dtype='int8', casting='unsafe')
np.negative({x}, where={mask}, out=np.ones_like({x}))
np.absolute({x}, out=np.empty_like({x}), casting='unsafe')
np.sign({integer}, dtype='float32', casting='unsafe')
np.logical_not({x}, out=np.empty_like({x}), casting='unsafe')
np.rint({x}, dtype='float64')
xp.asarray(np.add([{x}, {x}], {any}))
np.nan_to_num({x}, posinf={count})
np.conj({x})
{x}.conj()
"""

_BINARY = """
np.add({x}, {any})
np.subtract({any}, {x})
np.multiply(np.real({x}), {whole})
np.multiply(np.real({x}), np.real({any}))
{x} + {any}
{any} - {x}
np.real({x}) * np.real({any})
{x} / {number}
np.real({x}) / np.real({any})
{x} // {any}
{any} % {x}
{x} & {any}
{any} | {x}
{x} ^ {any}
{x} << {any}
{any} >> {x}
{x} < {any}
{any} >= {x}
{x} == {any}
{x} != {any}
np.floor_divide({any}, {x})
np.remainder({x}, {any})
np.fmod({x}, {any})
np.divmod({x}, {any})[0]
np.divmod({any}, {x})[1]
np.divide({x}.real, {any}, dtype='float64')
np.bitwise_and({x}, {any})
np.bitwise_xor({any}, {x})
np.left_shift({x}, {any})
np.right_shift({any}, {x})
np.logical_and({x}, {any})
np.logical_xor({any}, {x})
np.copysign({x}, np.nan_to_num({any}))
np.nextafter({x}, {any})
np.maximum({x}, {any}) + 0
np.minimum({any}, {x}) + 0
np.fmax({x}, {any}) + 0
np.fmin({any}, {x}) + 0
np.gcd({x}, {any})
np.lcm({x}, {any})
np.equal({x}, {any})
np.less({any}, {x})
np.greater_equal({x}, {any})
np.not_equal({x}, {any})
np.power({x}, {count})
np.multiply({x}, {y}, where={mask}, out=np.zeros_like({x}))
np.add({x}, {any}, dtype='float64')
np.subtract({x}, {any}, dtype='complex128')
np.add({x}, {any}, out=np.empty_like({x}))
{integer} + {integer2}
{integer} - {integer2}
{integer} * {integer2}
{integer} // {integer2}
{integer} % {integer2}
{integer} / {integer2}
{integer} ** {count}
{integer} & {integer2}
{integer} ^ {integer2}
{integer} << {count}
{integer} >> {integer2}
{integer} <= {integer2}
{integer} == {number}
{integer} * {number}
{whole} - {integer}
{whole} // {integer}
{whole} % {integer}
2 ** np.abs({small})
divmod({integer}, {integer2})[1]
np.divmod({integer}, {integer2})[0]
np.fmod({integer}, {integer2})
np.gcd({integer}, {integer2})
np.lcm({integer}, {integer2})
np.power({integer}, {count}, dtype='int16', casting='unsafe')
np.multiply({integer}, {integer2}, dtype='float64')
np.add({integer}, {integer2}, dtype={integer2}.dtype, casting='unsafe')
np.subtract({integer}, {integer2}, dtype='uint8', casting='unsafe')
np.true_divide({integer}, {integer2}, dtype='float32', casting='unsafe')
np.add({x}, {any}, dtype='complex64', casting='unsafe')
np.add({x}, {any}, out=np.empty_like({x}), casting='unsafe') if {x}.dtype.kind in 'fc' else {x} + 1
np.logical_or({x}, {any}, where={mask}, out=np.zeros_like({x}, dtype=bool))
{x} + [1]
[[1], [2]] + {x}
[{number}, {number2}] - {x}
np.real({x}) * [{number}, 2]
np.asarray([2, 3]) + {x}
np.asarray({number}) - {x}
np.uint64(3) + {integer}
np.int8(-7) * {integer}
np.float16(2.5) + {x}
np.minimum({integer}, {number}) + 0
np.fmax([1, 2], {x}) + 0
np.isclose({x}, {any}, rtol=0.5, equal_nan={bool})
np.float_power({small}, 2)
"""

_CHOICES = """
np.where({x}, {any}, {any2})
np.where({x} > {any}, {x}, {any2})
np.where({mask}, {x}, {any})
np.where({x} == {x}, {any}, {x})
np.clip({x}, {whole}, {any}) + 0
np.clip({x}, {any}, None) + 0
{x}.clip(-1, 2)
{x}.clip(max={any}) + 0
np.select([{x} > 0, {x} < -1], [{x}, {any}], 7)
np.select([{x} > 0, {x} < {any}], [{x} * 2, {any2}])
np.choose(np.real({x}) > 0, [{x}, {any}])
np.choose({places}, [{x}, {y}], mode='clip')
np.piecewise({x}, [{x} < 0, {x} > 1], [-1, lambda a: a * 2, 3])
np.where({x} > 0, {x}, 0)
np.where({mask}, np.nan, {x})
np.where([True, False], {x}, {any})
np.where({x}, 1, {whole})
np.clip({x}, 0, {any}, out=np.empty_like({x})) + 0
np.clip({integer}, {whole}, {integer2})
np.clip({integer}, min=1, dtype='int64')
{integer}.clip({count}, 4)
{x}.clip({any}, {any2}) + 0
np.select([{mask}, {x} > 0], [{any}, 0], default={x})
np.select([{mask}], [{x}], {any})
np.piecewise({x}, {mask}, [lambda a: a + 1])
np.piecewise({x}, [{x} == 0, {x} == 1], [1, lambda a: a, np.negative])
"""

_FOLDS = """
np.{fold}({exact}, axis={axes}, keepdims={bool}) + 0
{exact}.{fold}({axis}) + 0
{exact}.{fold}(axis={axes}, keepdims={bool}) + 0
{xp}.sum({exact}, axis={axes}, dtype={sum_dtype}) + 0
{exact}.sum(axis={axis}, dtype={sum_dtype}, keepdims={bool}) + 0
np.sum({exact}, axis={axes}, where={mask}, initial={count}) + 0
np.sum({exact}, where={exact} > 0) + 0
np.max({x}, axis={axes}, initial=1, where={mask}) + 0
np.min(np.real({x}) / 1, axis={axes}, initial={number}) + 0
{x}.max({axis}) + 0
np.any({x}, axis={axes}, where={mask})
np.all({x}, axis={axes}, keepdims={bool})
np.prod({unit}, axis={axes}, keepdims={bool}) + 0
np.prod({unit}, axis={axis}, initial=2, where={mask}) + 0
{xp}.mean({small}, axis={axis}) + 0
{small}.mean({axes}, keepdims={bool}) + 0
np.mean({small}, where={mask}) + 0
np.median({small}, axis={axis}) + 0
np.count_nonzero({x}, axis={axes}, keepdims={bool})
{x}.argmax({axis})
np.argmin({x}, axis={axis}, keepdims={bool})
np.nanargmax({x}, axis={axis})
np.nansum({exact}, axis={axes}, keepdims={bool}) + 0
np.nanprod({unit}, axis={axes}) + 0
np.nanmax({x}, axis={axes}) + 0
np.nanmin({x}, axis={axes}, keepdims={bool}) + 0
np.nanmean({small}, axis={axes}) + 0
np.ptp({small}, axis={axis}, keepdims={bool}) + 0
np.trace({exact}, offset={int}) + 0
np.logical_or.reduce({x}, axis={axes})
np.add.reduce({exact}, axis={axes}, dtype={sum_dtype}, keepdims={bool}) + 0
np.multiply.reduce({unit}, axis={one_axis}, where={mask}) + 0
np.maximum.reduce({x}, axis={axis}, initial={whole}) + 0
np.minimum.reduce({x}) + 0
np.subtract.reduce({exact}, axis={one_axis}) + 0
np.bitwise_or.reduce({x}, axis={axis})
np.bitwise_xor.reduce({x}, axis={axis}, keepdims={bool})
np.logical_xor.reduce({x}, axis={one_axis})
np.bitwise_and.reduce({x}, axis={axes})
np.fmax.reduce({x}, axis={axis}) + 0
np.all({x} == {any})
np.max(np.abs({x}.real), axis={axis})
({exact} * {exact_y}).sum({axis}) + 0
np.average({small}, axis={axis}) + 0
np.add.reduceat({exact}, {places}, axis=0) + 0
np.maximum.reduceat({x}, {places}, axis=0) + 0
xp.asarray(np.sum([{exact}, {exact}], axis=0)) + 0
xp.asarray(np.max([{x}, {x}])) + 0
np.sum({exact}, axis={axis}, out=np.empty_like({exact}.sum({axis}))) + 0
np.sum({exact} > 0, axis={axes}, dtype='float32')
np.sum({integer}, axis={axes}, keepdims={bool}, initial={whole})
np.prod({integer}, axis={axis})
np.prod({integer}, dtype='int32')
np.mean({integer}, axis={axis}, dtype='complex128') + 0 if abs({integer}).sum() < 100 else 0
np.max({x}, axis={axis}, keepdims={bool}, out=np.empty_like({x}.max({axis}, keepdims={bool}))) + 0
np.amin({x}, axis={axes}) + 0
np.all({x}, axis={axis}, out=np.empty_like({x}.all({axis}), dtype='int8'))
np.any({x} > 0)
np.argmax({x}, axis={axis}, keepdims={bool})
np.nanargmin({x}, axis={axis})
np.nansum({exact}, axis={axis}, where={mask}, initial=2) + 0
np.nanmax(np.atleast_1d({x}), axis={axis}, initial=0, where={mask}) + 0
np.ptp({small})
np.trace({exact}, {int}, 0, -1, dtype='float64') + 0
np.add.reduce({integer}, axis={axes}, where={mask}, initial=1)
np.add.reduce({exact}, axis=()) + 0
np.maximum.reduce({x}, axis=()) + 0
np.bitwise_or.reduce({integer}, axis={axes})
np.bitwise_and.reduce({integer}, axis={axis}, initial=7)
np.gcd.reduce({integer}, axis={one_axis})
np.floor_divide.reduce({integer}, axis={one_axis})
np.left_shift.reduce({small}, axis={one_axis})
np.logical_and.reduce({x}, axis={axes}, where={mask})
np.not_equal.reduce({x}, axis={one_axis}, dtype=bool)
np.add.reduceat({exact}, {places}, axis={one_axis}) + 0
np.multiply.reduceat({unit}, [0, 1], axis={one_axis}) + 0
np.logical_or.reduceat({x}, {places})
np.bitwise_xor.reduceat({integer}, {places}, axis=0, dtype='int64')
np.quantile({small}, 0.5, axis={axis}, method='lower') + 0
np.percentile({small}, 30, axis={axes}, method='nearest') + 0
np.median({small}, axis={axes}, keepdims={bool}) + 0
np.nanmedian({small}, axis={axis}) + 0
np.count_nonzero({x})
np.mean({x} > 0) == 0.5
({x} == {x}[::-1]).all({axis})
(np.abs({exact}) + 1).sum({axes}) - {exact}.sum({axes})
{exact} - {exact}.sum({axis}, keepdims=True) + 0
np.cumsum({exact}, axis={one_axis})[::-1].sum({axis}) + 0
({x} > {any}).sum({axis})
np.where({mask}, {exact}, 0).sum({axis}) + 0
"""

_SCANS = """
np.cumsum({exact}, axis={axis})
np.add.accumulate({exact}[None], axis=-1, out=np.zeros_like({exact}[None]))
{exact}.cumsum({axis}, dtype={sum_dtype})
np.cumprod({unit}, axis={axis})
{unit}.cumprod({axis})
np.nancumsum({exact}, axis={axis})
np.cumulative_sum({exact}, axis={one_axis}, include_initial={bool})
np.add.accumulate({exact}, axis={one_axis})
np.maximum.accumulate({x}, axis={one_axis}) + 0
np.minimum.accumulate({x}) + 0
np.logical_and.accumulate({x}, axis={one_axis})
np.bitwise_xor.accumulate({x}, axis={one_axis})
np.subtract.accumulate({exact}, axis={one_axis})
np.diff({x}, axis={one_axis})
np.diff({x}, n={count}, axis={one_axis})
np.diff({x}, prepend={whole}, append={x}[..., :1])
np.ediff1d({x})
np.multiply.accumulate({unit}, axis={one_axis})
np.multiply.accumulate({integer}, axis={one_axis})
np.cumulative_prod({unit}, axis={one_axis}, include_initial={bool})
np.nancumprod({unit}, axis={axis})
np.cumsum({integer}, axis={axis}, dtype={sum_dtype})
np.cumsum({integer}[None], axis=-1, out=np.empty_like({integer}[None]))
np.logical_or.accumulate({x}, axis={one_axis}, dtype=bool)
np.bitwise_or.accumulate({integer}, axis={one_axis})
np.fmax.accumulate({x}, axis={one_axis}) + 0
np.floor_divide.accumulate({integer}, axis={one_axis})
np.gcd.accumulate({integer})
np.diff({x}, n=2)
np.diff({integer}, append={whole})
np.ediff1d({x}, to_begin={x}.ravel()[:1], to_end=[1, 2])
"""

_ORDER = """
np.sort({x} + 0, axis={axis})
np.sort({x} + 0, axis={one_axis}, kind='stable')
np.argsort({x}, axis={one_axis}, kind='stable')
np.argsort({x}, axis={axis}, stable=True)
np.unique({x} + 0)
np.unique({x} + 0, return_inverse=True)[1]
np.unique({x} + 0, return_counts=True)[1]
np.unique({x} + 0, return_index=True)[1]
np.partition({x} + 0, 0, axis={one_axis})[..., 0]
np.lexsort(({x}, {x}))
np.searchsorted(np.arange(5), {x}, side='right')
np.searchsorted(np.sort(np.ravel({x})), {any})
np.digitize({x}, [-2, 0, 3])
np.nonzero({x})[0]
np.flatnonzero({x})
np.argwhere({x})
np.bincount(np.abs({small}.reshape(-1)))
np.isin({x}, {any})
np.union1d({x} + 0, {y} + 0)
np.histogram({bounded}, bins=4, range=(-4, 4))[0]
np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), axis=-1)
np.sort({x} + 0, axis=None)
np.sort({integer}, axis={axis}, stable={bool})
np.sort_complex({x} + 0)
np.argsort({integer}, axis={axis}, kind='stable')
np.argsort(-np.real({x}), kind='stable')
np.lexsort(({integer}, {integer} % 3))
np.partition({x} + 0, {int}, axis={one_axis})[..., {int}]
np.take_along_axis({x}, np.argpartition({x}, 0, axis=-1)[..., :1], axis=-1) + 0
np.unique({x} + 0, axis={one_axis})
np.unique({integer}, axis=0, return_inverse=True)[1]
np.unique({integer}, return_index=True, return_counts=True)[{count}]
np.unique_counts({x} + 0).counts
np.unique_inverse({x} + 0).inverse_indices
np.unique_all({x} + 0)[1]
np.intersect1d({x} + 0, {any})
np.setdiff1d({x} + 0, {any})
np.setxor1d({x} + 0, {y} + 0)
np.intersect1d(np.unique({x} + 0), np.unique({x} + 0), return_indices=True)[2]
np.isin({integer}, {integer2}, invert={bool})
np.isin({x}, [0, 1, 3], kind='sort')
np.searchsorted(np.sort(np.ravel({x} + 0)), {x}, side='left')
np.searchsorted(np.ravel({x}), {number}, sorter=np.argsort(np.ravel({x}), kind='stable'))
np.digitize({x}, [3, 0, -2], right={bool})
np.bincount(np.abs({small}.reshape(-1)), minlength={count})
np.histogram({bounded}, bins=[-8, 0, 1, 8])[0]
np.histogram2d({bounded}.ravel(), {bounded}.ravel()[::-1], bins=2, range=[(-9, 9), (-9, 9)])[0]
np.argwhere({x} != 0)
{x}.nonzero()[-1]
{x}.argsort(axis={one_axis}, kind='stable')
{x}.searchsorted({any}) if {x}.size < 2 else 0
"""

# Calls in which NumPy takes bfloat16 for no float (its NaNs, the sign of a zero), or makes float32
# or float64 of it.
NOT_BFLOAT16 = "clip|[*][*]|@|matmul|matvec|vecmat|matrix_power|dot[(]|cumsum|[*].*[.]sum"
NOT_BFLOAT16 += "|vecdot|smooth|gradient|trapezoid|norm|linspace|choose|fft|cov|np.nan"
NOT_BFLOAT16 += "|quantile|percentile|median|interp|average|sort|unique|sign|partition|isin"
NOT_BFLOAT16 += "|searchsorted|digitize|union|histogram|where[(]|select|conj|einsum|unwrap"
NOT_BFLOAT16 += "|[.]flat|diff|np[.](array|sum|max|add)[(]\\["

# Words in the lines above that stand for several calls.
CHOICES = {
    "fold": "sum max min any all argmax argmin",
    "smooth": "exp sin cos tanh arctan sinh cosh expm1 cbrt exp2 degrees radians sinc",
    "operator": "+= -= *= //= %= &= |= ^= <<= >>= /=",
    "pair": "add multiply subtract copysign bitwise_and floor_divide true_divide",
}


def _lines(text):
    return [line for line in text.splitlines() if line]


EXACT = [
    _lines(text)
    for text in (
        *(_ELEMENTWISE, _BINARY, _BINARY, _CHOICES, _FOLDS, _FOLDS, _SCANS, _ORDER),
        *(VIEWS, VIEWS, READS, READS, REARRANGED, PRODUCTS),
    )
]
LARGE = [  # whose results are not much larger than their operands
    _lines(text)
    for text in (_ELEMENTWISE, _BINARY, _BINARY, _CHOICES, _FOLDS, _FOLDS, _SCANS, LARGE_MOVES)
]
ROUNDED = _lines(array_rounded.ROUNDED)
UPDATES = _lines(array_updates.UPDATES)
