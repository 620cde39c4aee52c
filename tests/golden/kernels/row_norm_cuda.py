import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_sum_divide_subtract_multiply_f32(n0, n1, x0_ptr, x0_stride0, c0, out1_ptr, out1_stride0):
    i0 = tl.program_id(0) * 2 + tl.arange(0, 2)[:, None]
    mask0 = i0 < n0
    offs = tl.arange(0, 1024)
    mask1 = offs[None, :] < n1
    mask = mask0 & mask1
    x0 = tl.load(x0_ptr + offs[None, :] + i0 * x0_stride0, mask=mask)
    total = tl.sum(tl.where(mask1, x0, 0.0), axis=1)
    value = x0 - (total[:, None] + 0.0) / c0
    total_1 = tl.sum(tl.where(mask1, value * value, 0.0), axis=1)
    tl.store(out1_ptr + offs[None, :] + i0 * out1_stride0, value / tl.sqrt((total_1[:, None] + 0.0) / c0), mask=mask)
