"""Statements of drawn programs that write into arrays.

`array_calls` explains the braces.
"""

UPDATES = """
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
np.copyto({name}, np.copy({fitting}), where=({name} > 0))
np.copyto({name}[{basic}], {fitting}, casting='unsafe')
np.put({name}, {places}, np.copy({fitting}))
np.place({name}, {mask}, [1, 2])
np.putmask({name}, {mask}, np.copy({fitting}))
np.fill_diagonal({name}, 3)
np.put_along_axis({name}, np.argmax({name}, axis=0, keepdims=True), 7, axis=0)
{name}.fill({count})
{name}.sort({one_axis}) if {name}.dtype.kind in 'biu' else None
{name}.put({places}, 1, mode='wrap')
{name} {operator} {any}
{name} {operator} {any}
{name} {operator} {name}[::-1]
{name} {operator} {name}.T
{name}[{basic}] {operator} {name}[{basic2}]
{name}[1:] {operator} {name}[:-1]
{name}[:-1] {operator} {name}[1:]
{name}[..., 1:] {operator} {name}[..., :1]
{name}[::2] = {name}[::-2]
{name}[{basic}].T[...] = {name}[{basic}][::-1].T
{name}.T[::-1][...] = {name}.T
{name}[0], {name}[-1] = {name}[-1], {name}[0]
{name}[0], {name}[-1] = {name}[-1].copy(), {name}[0].copy()
{name}[...] = {name}.T
{name}[...] = {name}[..., :1]
{name}[{places}] = {name}[::-1][{places}]
{name}[{places}] {operator} {any}
{name}[{places}] = [{whole}]
{name}[{mask}] = {name}[{mask}][::-1]
{name}[{mask}] = {name}[{mask}] * 2 if {name}.dtype.kind != 'b' else True
{name}[{mask}] {operator} {name}[{mask}]
{name}[..., {places}] = {whole}
{name}[:, {places}] = np.copy({fitting})
{name}[0, {places}] {operator} {number}
{name}[None, {places}] = {whole}
{name}[np.nonzero({name})] {operator} {number}
{name}[np.ix_({places})] = np.copy({fitting})
{name}[np.ix_({places}, [-1, 0])] {operator} 1
{name}[np.diag_indices_from({name})] = {whole}
{name}[True] = {whole}
{name}[False] = {whole}
{name}[()] = {whole}
{name}[()] {operator} {any}
{name}[xp.asarray(0)] = {whole}
{name}[0] = {name}[-1]
{name}[-1] {operator} {name}.sum(0) if {name}.dtype.kind in 'iub' else 1
{name}[{key}] = {name}[{key}]
{name}.flat[{places}] = {whole}
{name}.flat[1::2] = np.copy({fitting})
{name}.flat = np.copy({fitting})
{name}.flat[{count}] = {whole}
{name}.real {operator} {number}
{name}.imag {operator} 1
{name}.real[{basic}] {operator} {number}
{name}.real = {whole}
{name}.swapaxes(0, -1)[{count}:] {operator} {any}
{name}.reshape(-1)[::-1][{count}:] {operator} {whole}
{name}.squeeze()[...] = {fitting}
{name}[None][0, ...] {operator} {any}
{name}[:, None][...] = {whole}
{name}.view()[{basic}] = {fitting}
np.moveaxis({name}, 0, -1)[...] {operator} {whole}
np.flip({name})[{basic}] = {fitting}
np.rot90({name})[0] = {whole}
np.split({name}, {places})[0][...] = {whole}
np.broadcast_arrays({name}, {name})[0][...] + 1
np.lib.stride_tricks.sliding_window_view({name}, 2, axis=0).sum()
for row in {name}: row[...] = row[::-1]
for row in {name}: row {operator} {number}
np.{pair}({name}[1:], {name}[:-1], out={name}[1:])
np.{pair}({name}[:-1], {name}[1:], out={name}[1:])
np.{pair}({name}, {name}.T, out={name}.T)
np.{pair}({name}, {any}, {name})
np.{pair}({x}, {any}, out=({name},), casting='same_kind')
np.{pair}({name}, {any}, out={name}[::-1], where={mask})
np.{pair}({integer}, {integer2}, out={name})
np.multiply({integer}, {integer2}, out={name}, casting='unsafe')
np.floor({x}, out={name})
np.square({name}, out={name}, where={mask})
np.invert({name}[{basic}], out={name}[{basic}])
np.absolute({x}, out={name})
np.positive({x}, out={name})
np.isnan({x}, out={name})
np.less({x}, {any}, out={name})
np.divmod({integer}, {whole}, out=({name}, np.empty_like({name})))
np.modf({x}, out=({name}, np.empty_like({name})))
np.add.at({name}, np.s_[{key}], {whole})
np.add.at({name}, {mask}, {whole})
np.add.at({name}, {places}, np.broadcast_to(np.copy({fitting}), {name}[{places}].shape))
np.add.at({name}.T, {places}, 1)
np.add.at({name}[::-1], ({places}, 0), 1)
np.bitwise_xor.at({name}, {places}, 5)
np.logical_not.at({name}, {places})
np.negative.at({name}, {places})
np.minimum.at({name}, {places}, {whole})
np.floor_divide.at({name}, {places}, 2)
np.bitwise_xor.accumulate({name}, out={name})
np.logical_or.accumulate({name}, axis={one_axis}, out={name})
np.logical_and.reduce({x}, axis=0, out={name})
np.sum({exact} + 0, axis=0, out={name})
np.sum({exact} + 0, axis=-1, out={name}[::-1])
np.add.accumulate({name}, axis={one_axis}, out={name}) if {name}.dtype.kind in 'biu' else 0
np.any({x}, axis=0, out={name})
np.argmax({x}, axis=0, out={name})
np.mean(np.abs({small}), axis=0, out={name})
np.take({x}, {places}, axis=0, out={name}, mode='clip')
np.concatenate([{name}[1:] + 0, {name}[:1] + 0], out={name})
np.stack([{name}[-1] + 0, {name}[0] + 0], out={name})
np.choose({name} > 0, [{name}, {whole}], out={name})
np.compress({places}, {x}, out={name})
np.copyto({name}, {whole})
np.copyto({name}, {name}[::-1], where=({name} > 0))
np.copyto({name}.T, {name})
np.nan_to_num({name}, copy=False)
np.put({name}, {places}, np.copy({any}), mode='clip')
np.place({name}, {mask}, np.copy({fitting}))
np.putmask({name}, {mask}, {name}[::-1] + 0)
np.fill_diagonal({name}, [1, 2, 3], wrap={bool})
np.fill_diagonal({name}[::-1], {whole})
np.put_along_axis({name}, np.argmin({name}, {one_axis}, keepdims=True), {whole}, {one_axis})
np.round({name}, 1, out={name}) if {name}.dtype.kind != 'c' else None
np.minimum({name}, 3, out={name}) if {name}.dtype.kind in 'biu' else None
{name}.sort(axis=0, kind='stable') if {name}.dtype.kind in 'biu' else None
{name}[::-1].sort() if {name}.dtype.kind in 'biu' else None
{name}.T.sort() if {name}.dtype.kind in 'biu' else None
{name}[{basic}].fill({whole})
{name}[{basic}] = {name}[{basic}].mean() if {name}.dtype.kind == 'b' else 0
"""
