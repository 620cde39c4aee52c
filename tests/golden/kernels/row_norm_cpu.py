import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_sum_divide_subtract_multiply_f32(n1, x0_ptr, x0_stride0, c0, out1_ptr, out1_stride0):
    pid = tl.program_id(0)
    i1 = tl.arange(0, 1024)
    mask1 = i1 < n1
    x0 = tl.load(x0_ptr + pid * x0_stride0 + i1, mask=mask1)
    total = tl.sum(tl.where(mask1, x0, 0.0), axis=0)
    value = x0 - (total + 0.0) / c0
    total_1 = tl.sum(tl.where(mask1, value * value, 0.0), axis=0)
    tl.store(out1_ptr + pid * out1_stride0 + i1, value / tl.sqrt((total_1 + 0.0) / c0), mask=mask1)
