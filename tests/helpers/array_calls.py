"""The calls that drawn programs are made of, by kind, one a line.

Names in braces are phrases (`array_phrases`), drawn anew in every line; a digit tells two of a
kind apart. EXACT gives values with one right bit pattern, which later lines may use, ROUNDED
values that are compared within a tolerance, which none does. UPDATES are statements.
"""

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
np.signbit({x})
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
np.min({x}, axis={axes}, initial={number}) + 0
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
"""

_SCANS = """
np.cumsum({exact}, axis={axis})
np.add.accumulate({exact}, axis={one_axis}, out=np.zeros_like({exact}))
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
"""

_VIEWS = """
{x}[{basic}]
{x}[{basic}]
{x}.T
{x}.ravel()
{x}.flatten()
{x}.copy()
{x}.reshape({reshaped})
np.reshape({x}, {reshaped})
{x}.reshape({reshaped}, order='F')
{x}.transpose({permutation})
np.transpose({x})
{x}.swapaxes(0, -1)
np.moveaxis({x}, 0, -1)
{x}.squeeze()
np.squeeze({x}, axis={one_axis})
{x}[None]
np.expand_dims({x}, {one_axis})
np.expand_dims({x}, (0, -1))
np.broadcast_to({x}, {broadcast})
np.diagonal({x})
np.diagonal({x}, offset={int})
{x}.real
{x}.imag
np.atleast_2d({x})
np.atleast_3d({x})
np.flip({x}, axis={axes})
np.flipud({x})
np.rot90({x}, k={int})
np.broadcast_arrays({x}, {any})[0]
np.split({x}, {places}, axis=0)[-1]
np.array_split({x}, 3, axis={one_axis})[{count}]
np.lib.stride_tricks.sliding_window_view({x}, 2, axis={one_axis})
xp.asarray({x})
xp.asarray({x}, copy=True)
xp.asarray({x}, dtype={x}.dtype)
"""

_READS = """
{x}[{key}]
{x}[{key}]
{x}[{key}]
{x}[{places}]
{x}[..., {places}, :]
{x}[{mask}]
{x}[{x} > {whole}]
{x}[{mask}][..., ::-1]
np.take({x}, {places}, axis=0)
np.take({x}, {places})
np.append({x}, 1).take({places}, mode='wrap')
np.take({x}, [-9, 2, 40], axis={one_axis}, mode='clip')
np.compress({places}, {x}, axis=0)
np.extract({x} > 0, {x})
np.take_along_axis({x}, np.argmin({x}, axis=0, keepdims=True), axis=0)
xp.asarray({x}.max().item())
xp.stack([row + 1 for row in {x}])
np.stack(list({x}))
"""

_REARRANGED = """
np.concatenate([{x}, {y}])
np.concatenate([{x}, {x}[::-1], {any}], axis=0)
np.concatenate([{x}, {x}], axis={axis})
np.concatenate(({x}, {y}), axis=None)
np.stack([{x}, {x} * 2], axis={one_axis})
np.stack([{x}, {y}])
np.hstack([{x}, {y}])
np.vstack([{x}, {y}])
np.dstack([{x}, {x}])
np.column_stack([{x}, {x}])
np.block([[{x}, {x}], [{x}, {x}]])
np.append({x}, {any})
np.append({x}, {x}, axis={one_axis})
np.insert({x}, {count}, {number}, axis={one_axis})
np.delete({x}, {places}, axis=0)
np.roll({x}, {int}, axis={axis})
np.roll({x}, ({int}, {int2}), axis=(0, -1))
np.tile({x}, {count})
np.tile({x}, (2, 1))
np.repeat({x}, {count}, axis={axis})
{x}.repeat(2, axis={one_axis})
np.pad({x}, {pad_width})
np.pad({x}, {pad_width}, constant_values={whole})
np.pad({x}, {pad_width}, mode='edge')
np.pad({x}, {pad_width}, mode='reflect')
np.pad({x}, {pad_width}, mode='wrap')
np.pad({x}, {pad_width}, mode='symmetric')
np.tril({x}, {int})
np.triu({x}, k={int})
np.diag({x}, {int})
np.diagflat({x})
np.meshgrid({x}, {y})[0]
np.meshgrid({x}, {y}, indexing='ij')[-1]
np.resize({x}, (2, 3))
np.zeros_like({x})
np.full_like({x}, {whole})
np.ones_like({x}, dtype={dtype})
"""

_PRODUCTS = """
({exact} @ {exact_y}) + 0
({exact} @ {exact}.T) + 0
np.matmul({exact}, np.swapaxes({exact}, -1, -2)) + 0
np.dot(np.atleast_1d({exact}), np.atleast_1d({exact_y})) + 0
np.inner(np.atleast_1d({exact}), np.atleast_1d({exact_y})) + 0
np.outer({exact}[..., :3], {exact_y}[..., :3]) + 0
np.vdot({exact}, {exact}) + 0
np.vecdot({exact}, {exact}) + 0
np.tensordot({exact}, {exact}, axes={count}) + 0
np.kron({exact}[..., :3], {exact_y}[..., :3]) + 0
np.einsum('i,i->', {exact}, {exact_y}) + 0
np.einsum('ij->ji', {x})
np.einsum('ii->i', np.multiply.outer(np.ravel({x}), np.ravel({x})[::-1]))
np.einsum('ij,kj->ik', {exact}, {exact}) + 0
np.einsum('...i,...i->...', {exact}, {exact_y}) + 0
np.einsum('ij,j', {exact}, {exact_y}) + 0
np.einsum('i...->...', {exact}) + 0
np.add.outer({x}, {y})
np.multiply.outer({x}.real, {y}.real)
np.subtract.outer({x}, {whole})
np.less.outer({x}, {y})
np.cross({exact}, {exact_y}) + 0
np.convolve({exact}, {exact_y}) + 0
np.correlate({exact}, {exact_y}, 'same') + 0
"""

_ROUNDED = """
np.{smooth}({bounded})
np.{smooth}({bounded})
np.power(np.abs({bounded}), {number})
np.arctan2({bounded}, {bounded_y})
np.hypot({bounded}, {bounded_y})
np.logaddexp({bounded}, {bounded_y})
np.sum({bounded}, axis={axes}, keepdims={bool})
{bounded}.mean({axes})
np.var({bounded}, axis={axes}, ddof={count})
{bounded}.std(axis={axis}, keepdims={bool})
np.nanstd({bounded}, axis={axis})
np.cumsum({bounded}, axis={axis})
np.prod(np.tanh({bounded}), axis={axes})
np.quantile({bounded}, 0.3, axis={axis})
np.percentile({bounded}, [10, 50], axis={axis})
np.nanmedian({bounded}, axis={axis})
np.average({bounded}, axis={axis}, weights=np.abs({bounded}) + 1)
np.exp({bounded}) / np.exp({bounded}).sum(axis={axis}, keepdims=True)
{bounded} - {bounded}.mean(axis={axis}, keepdims=True)
{bounded} @ {bounded_y}
np.cov({bounded})
np.gradient({bounded}, axis={one_axis})
np.trapezoid({bounded}, axis={one_axis})
np.interp({bounded}, [-4, 0, 4], [1, 2, 0])
np.linalg.norm({bounded}, axis={axis})
np.fft.fft({bounded})
np.linspace(0, {bounded}, 5)
"""

_UPDATES = """
{name}[{basic}] = {fitting}
{name}[{basic}] = {fitting}
{name}[{basic}] = {name}[{basic2}]
{name}[1:] = {name}[:-1]
{name}[...] = {name}[::-1]
{name}[:] = {fitting}
{name}[{key}] = np.copy({fitting})
{name}[{key}] = np.copy({fitting})
{name}[{key}] = {whole}
{name}[{mask}] = np.copy({fitting})
{name}[{mask}] {operator} {any}
{name}[{basic}] {operator} {any}
{name}[{key}] {operator} {any}
{name}[...] {operator} {any}
{name}[::-1] {operator} {name}
{name}.T[...] = {fitting}
{name}.T[{basic}] {operator} {any}
{name}.reshape(-1)[{count}:] = {fitting}
{name}.ravel()[::2] {operator} {whole}
{name}[{basic}][...] = {fitting}
{name}[{basic}].T[...] {operator} {any}
{name}.real[...] = {fitting}
{name}.imag[...] = 2
np.{pair}({x}, {any}, out={name})
np.{pair}({name}, {any}, out={name}[{basic}])
np.{pair}({name}, {any}, out={name}, where={mask})
np.negative({name}[::-1], out={name})
np.logical_or({x}, {any}, out={name})
np.add.at({name}, {places}, {whole})
np.subtract.at({name}, ({places},), 1)
np.maximum.at({name}, {places}, 2)
np.multiply.at({name}[{basic}], 0, 2)
np.add.reduce({exact} + 0, axis=0, out={name})
np.clip({name}, -1, 1, out={name}) if {name}.dtype.kind != 'c' else None
np.copyto({name}, np.copy({fitting}))
np.copyto({name}, np.copy({fitting}), where={mask})
np.copyto({name}[{basic}], {fitting}, casting='unsafe')
np.put({name}, {places}, {fitting})
np.place({name}, {mask}, [1, 2])
np.putmask({name}, {mask}, {fitting})
np.fill_diagonal({name}, 3)
np.put_along_axis({name}, np.argmax({name}, axis=0, keepdims=True), 7, axis=0)
{name}.fill({count})
{name}.sort({one_axis}) if {name}.dtype.kind in 'biu' else None
{name}.put({places}, 1, mode='wrap')
"""

# Calls in which NumPy takes bfloat16 for no float (its NaNs, the sign of a zero), or makes float32
# or float64 of it.
NOT_BFLOAT16 = "clip|[*][*]|@|matmul|vecdot|smooth|gradient|trapezoid|norm|linspace|choose|fft|cov"
NOT_BFLOAT16 += "|np.nan|quantile|percentile|median|interp|average|sort|unique|sign|partition|isin"
NOT_BFLOAT16 += "|searchsorted|digitize|union|histogram|where[(]|select"

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
        *(_VIEWS, _VIEWS, _READS, _READS, _REARRANGED, _PRODUCTS),
    )
]
ROUNDED = _lines(_ROUNDED)
UPDATES = _lines(_UPDATES)
