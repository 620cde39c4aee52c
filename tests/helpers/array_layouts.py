"""Calls of drawn programs that read or arrange elements, and products.

`array_calls` explains the braces. LARGE_MOVES keep to results not much larger than their operands.
"""

VIEWS = """
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
{x}.view()
{x}.mT
np.matrix_transpose({x})
np.permute_dims({x}, {permutation})
np.ravel({x})
np.ravel({x}, order='F')
{x}.flatten('F')
{x}.diagonal({int})
np.diagonal({x}, {int}, 0, -1)
np.linalg.diagonal({x}, offset={int})
np.fliplr({x})
np.rot90({x}, k={int}, axes=(-1, 0))
np.rollaxis({x}, -1)
np.moveaxis({x}, [0, -1], [-1, 0])
np.atleast_1d({x}, {y})[1]
np.unstack({x}, axis={one_axis})[-1]
np.hsplit({x}, 1)[0]
np.vsplit({x}, {places})[0]
np.dsplit({x}, 1)[-1]
{x}[...]
{x}[()]
{x}[{basic}][..., None]
{x}[None, {basic}].T
{x}[slice(None, None, -2)]
{x}[:: -1].reshape(-1)[1:]
{x}.swapaxes(0, -1)[{count}:, None]
np.broadcast_to({x}, {broadcast})[..., ::-1]
np.broadcast_to({x}, {broadcast}).T.ravel()
np.lib.stride_tricks.sliding_window_view({x}, (1, 2), axis=(0, -1))
np.lib.stride_tricks.sliding_window_view({x}, 2, axis={one_axis})[::2, ..., 0]
{integer}.view('uint8') + 0
{integer}.view('int16') + 0
{integer}.view({x}.dtype) + 0
{integer}.byteswap()
"""

READS = """
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
{x}[np.nonzero({x})]
{x}[{x}.nonzero()]
{x}[({places},)]
{x}[np.int64(0)]
{x}[xp.asarray(0)]
{x}[xp.asarray(1):]
{x}[-1, ..., {places}]
{x}[{places}, ..., None]
{x}[:, {places}, 0]
{x}[{places}, :, {places}]
{x}[{places}, 0, ::-1]
{x}[None, {places}]
{x}[0, {y} > 0]
{x}[:, {y} > 0]
{x}[{y} != 0, ..., 0]
{x}[np.ix_({places})]
{x}[np.ix_({places}, [0, -1])]
{x}[True]
{x}[False, ..., None]
{x}[..., {bool}]
{x}[np.argsort({x}, kind='stable')]
{x}[np.triu_indices_from({x})]
{x}[np.tril_indices_from({x}, {int})]
{x}[np.diag_indices_from({x})]
{x}.flat[{places}]
{x}.flat[{count}]
{x}.flat[1::2]
{x}.take({places}, axis={one_axis}, mode='clip')
{x}.compress({places}, axis={one_axis})
np.take({x}, xp.asarray([[0], [-1]]), axis={one_axis})
np.take(np.append({x}, 1), {int}, mode='wrap')
np.take_along_axis({x}, np.argmax({x}, axis={one_axis}, keepdims=True), axis={one_axis})
np.take_along_axis({x}, np.asarray({places}), axis=None)
np.select([{mask}], [{x}], default={whole})
xp.asarray({x}.item(-1))
xp.asarray({x}.tolist(), dtype={x}.dtype)
xp.asarray([row[..., :1] for row in {x}])
xp.asarray([v for v in {x}.flat], dtype={x}.dtype)
xp.asarray([x for _, x in np.ndenumerate({x})], dtype={x}.dtype)
xp.asarray([len({x}), {x}.ndim, {x}.size, {x}.nbytes])
xp.asarray({number} in {x})
xp.asarray(bool({x}.any()))
xp.asarray(np.array_equal({x}, {y}))
xp.asarray(np.array_equiv({x}, {any}))
xp.asarray(np.allclose({x}, {any}))
xp.asarray(np.array([{x}, {x} + 1]))
xp.asarray([{x}, {x}])
xp.asarray(np.array({x}, dtype='complex128'))
xp.asarray([{x}.max(), {x}.min(), 1])
xp.asarray(np.result_type({x}, {any}).itemsize)
xp.asarray(np.can_cast({x}.dtype, {y}.dtype))
np.unravel_index(np.argmax({x}), {x}.shape)[-1]
np.ravel_multi_index(np.nonzero({x}), {x}.shape)
np.apply_along_axis(lambda row: row[::-1] + 1, {one_axis}, {x})
np.apply_along_axis(np.max, {one_axis}, {x})
np.apply_over_axes(np.sum, {exact}, (0, -1)) + 0
"""

REARRANGED = """
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
np.concatenate([{x}, {y}], dtype='complex128')
np.concatenate([{x}, {x}], axis={one_axis}, dtype='float16', casting='unsafe')
np.concatenate([{x}, {x}], out=np.empty_like(np.tile({x}, 2)))
np.concatenate([{x}[:1], {y}[:1], {x}[1:]], axis=-1)
np.concat([{x}, [1, 2]])
np.stack([{x}, {x}[::-1]], axis={one_axis}, dtype='float64', casting='unsafe')
np.stack([{x}, {any}])
np.hstack([{x}, {x}, [1]])
np.vstack([{x}, {x}[..., ::-1]], dtype='complex64', casting='unsafe')
np.dstack([{x}, {y}])
np.column_stack([{x}, {y}, {x}])
np.block([{x}, {x}, {any}])
np.block([[{x}], [{x}]])
np.append({x}, [[1], [2]])
np.insert({x}, {places}, {whole}, axis={one_axis})
np.insert({x}, {places}, {any})
np.insert({x}, slice(None, None, 2), {number})
np.delete({x}, {count}, axis={one_axis})
np.delete({x}, slice({int}, None, 2), axis={one_axis})
np.delete({x}, {places})
np.delete({x}, {mask})
np.roll({x}, {int})
np.roll({x}, [1, {int}], axis=0)
np.tile({x}, (2, 1, {count}))
np.repeat({x}, {places})
np.repeat({x}, [{count}, {count2}], axis={one_axis})
np.repeat({x}, xp.asarray({count}))
np.pad({x}, {pad_width}, mode='constant', constant_values=((1, 2),))
np.pad({x}, {pad_width}, mode='maximum') + 0
np.pad({x}, {pad_width}, mode='minimum', stat_length=2) + 0
np.pad({x}, {pad_width}, mode='reflect', reflect_type='odd')
np.pad({integer}, {pad_width}, mode='linear_ramp', end_values=3)
np.tril({x}) + np.triu({x}, 1)
np.diag({x})
np.diag(np.diag({x}), {int})
np.meshgrid({x}, {y}, sparse=True)[-1]
np.meshgrid({x}, {y}, [1, 2])[{count}]
np.resize({x}, ({count}, 4))
np.zeros_like({x}, dtype={dtype})
np.full_like({x}, {whole}, dtype={dtype})
np.full_like({x}, {x}[..., :1])
np.ones_like({x}, shape=(2, {count}))
np.full((2, {count}), {x}[..., :1].ravel()[:1], like={x})
np.vander({unit}, {count})
np.trim_zeros({x})
xp.asarray(np.ascontiguousarray({x}) + 0)
np.copy({x})
np.array({x}, copy=True, ndmin=3, like={x})
np.packbits({x} > 0, axis={axis})
np.unpackbits({integer}.astype('uint8'), axis={axis})
np.where({mask}, {x}, {x}[::-1])
np.where({x}, [1], {any})
np.choose({mask}, [{x}, {any}])
np.choose({places}, [[1, 2], {x}, {y}], mode='wrap')
"""

PRODUCTS = """
({exact} @ {exact_y}) + 0
({exact} @ {exact}.T) + 0
np.matmul({exact}, np.swapaxes({exact}, -1, -2)) + 0
np.dot(np.atleast_1d({integer}), np.atleast_1d({integer2})) + 0
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
np.matmul({exact}, {exact_y}, dtype='float64', casting='unsafe') + 0
np.matmul({exact}, {exact_y}, out=np.empty_like({exact} @ {exact_y})) + 0
({exact}.T @ {exact}) + 0
({exact}[..., None] @ {exact}[..., None, :]) + 0
({exact} @ {exact}[..., None, :, None]) + 0
np.matmul({exact}[None, ::-1], {exact_y}) + 0
np.matvec({exact}, {exact_y}) + 0
np.vecmat({exact_y}, {exact}) + 0
np.linalg.matrix_power(np.eye(3, dtype={x}.dtype) + np.resize({unit}, (3, 3)), {count}) + 0
np.linalg.multi_dot([{exact}, {exact}.T, {exact}]) + 0
np.linalg.outer({exact}, {exact_y}) + 0
np.linalg.vecdot({exact}, {exact_y}) + 0
np.linalg.trace({exact}, offset={int}) + 0
np.dot({exact}, 3) + 0
np.dot({integer}, {integer2}) + 0
np.atleast_1d({integer}).dot({integer2})
np.inner({exact}, {exact}) + 0
np.vdot({exact}, {exact_y}) + 0
np.vecdot({exact}, {exact_y}, axis={one_axis}) + 0
np.tensordot({integer}, {integer2}, axes=0) + 0
np.tensordot({exact}, {exact}, axes=([0, -1], [0, -1])) + 0
np.tensordot({exact}, {exact}, axes=(0, 0)) + 0
np.kron({exact}, {exact}[..., :1]) + 0
np.einsum('ij,ij->', {exact}, {exact}) + 0
np.einsum('ij->', {exact}) + 0
np.einsum('ijk->kji', {x})
np.einsum('ij,jk->ki', {exact}, {exact_y}) + 0
np.einsum('i,j,k->kij', {unit}[:3], {unit}[:2], {unit}[:2]) + 0
np.einsum('...j,...j', {exact}, {exact}) + 0
np.einsum({exact}, [0, ...], [...]) + 0
np.einsum('ij,kj->ik', {exact}, {exact}, optimize=True) + 0
np.einsum('ij,ij->j', {exact}, {exact}, dtype='float64', casting='unsafe') + 0
np.multiply.outer({integer}, {integer2})
np.floor_divide.outer({integer}, {integer2})
np.maximum.outer({x}[:2], {any}) + 0
np.equal.outer({x}, {x})
np.cross({exact}, {exact}[::-1]) + 0
np.convolve({exact}, {exact_y}, 'same') + 0
np.convolve({exact}, {exact}[:2], 'valid') + 0
np.correlate({exact}, {exact_y}) + 0
np.polyval([1, -1, 2], {unit}) + 0
np.polyval({unit}, 2) + 0
"""

LARGE_MOVES = """
{x}.T
{x}[::-1]
{x}[..., ::-1]
{x}[1:]
{x}[..., 1::2]
{x}[:-1] + {x}[1:]
{x}[..., :-1] - {x}[..., 1:]
{x}.ravel()
{x}.copy()
{x}[{places}]
{x}[{mask}]
{x}[{x} > 1]
np.take({x}, {places}, axis=0)
np.flip({x}, axis={axes})
np.roll({x}, {int}, axis={axis})
np.concatenate([{x}, {x}[::-1]])
np.concatenate([{x}, {x}], axis={axis})
np.stack([{x}, {x} * 2])
np.pad({x}, 1)
np.pad({x}, 2, mode='reflect')
np.repeat({x}, 2, axis={axis})
np.sort({x} + 0, axis={axis})
np.argsort({x}, axis={one_axis}, kind='stable')
np.nonzero({x})[0]
np.unique({x} + 0)
np.searchsorted(np.sort(np.ravel({x} + 0)), {x})
np.bincount(np.abs({small}.reshape(-1)))
np.histogram({bounded}, bins=4, range=(-4, 4))[0]
np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), axis=-1)
({exact} @ {exact}.T) + 0
({exact}.T @ {exact}) + 0
np.einsum('...i,...i->...', {exact}, {exact}) + 0
np.lib.stride_tricks.sliding_window_view({x}, 3, axis={one_axis}).max(-1) + 0
({exact}[1:] + {exact}[:-1]).sum({axis}) + 0
({exact}.T * 2).sum({axis}) + 0
{exact}[::-1].cumsum({axis})
"""
