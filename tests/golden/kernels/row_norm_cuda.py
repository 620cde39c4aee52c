import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_sum_divide_subtract_multiply_f32(n0, x0_ptr, x0_stride0, n1, c0, out1_ptr, out1_stride0):
    i0 = tl.program_id(0) * 2 + tl.arange(0, 2)[:, None]
    mask0 = i0 < n0
    offs = tl.arange(0, 256)
    offs_1 = i0 * x0_stride0
    x0 = tl.load(x0_ptr + offs[None, :] + offs_1, mask=mask0)
    i1 = 256 + offs[None, :]
    x0_1 = tl.load(x0_ptr + i1 + offs_1, mask=mask0)
    i1_1 = 512 + offs[None, :]
    x0_2 = tl.load(x0_ptr + i1_1 + offs_1, mask=mask0)
    i1_2 = 768 + offs[None, :]
    mask1 = i1_2 < n1
    mask = mask0 & mask1
    x0_3 = tl.load(x0_ptr + i1_2 + offs_1, mask=mask)
    total = tl.sum(0.0 + x0 + x0_1 + x0_2 + tl.where(mask1, x0_3, 0.0), axis=1)
    value = total[:, None] / c0
    value_1 = x0 - value
    value_2 = x0_1 - value
    value_3 = x0_2 - value
    value_4 = 0.0 + value_1 * value_1 + value_2 * value_2 + value_3 * value_3
    value_5 = x0_3 - value
    total_1 = tl.sum(value_4 + tl.where(mask1, value_5 * value_5, 0.0), axis=1)
    value_6 = tl.sqrt(total_1[:, None] / c0)
    offs_2 = i0 * out1_stride0
    tl.store(out1_ptr + offs[None, :] + offs_2, value_1 / value_6, mask=mask0)
    tl.store(out1_ptr + i1 + offs_2, value_2 / value_6, mask=mask0)
    tl.store(out1_ptr + i1_1 + offs_2, value_3 / value_6, mask=mask0)
    tl.store(out1_ptr + i1_2 + offs_2, value_5 / value_6, mask=mask)
