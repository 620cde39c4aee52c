import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_max_subtract_exp_sum_f32(x0_ptr, x0_stride0, out1_ptr, out1_stride0):
    pid = tl.program_id(0)
    i1 = tl.arange(0, 4096)
    x0 = tl.load(x0_ptr + pid * x0_stride0 + i1)
    largest = tl.max(x0, axis=0, propagate_nan=tl.PropagateNan.ALL)
    value = tl.exp(x0 - largest)
    total = tl.sum(value, axis=0)
    tl.store(out1_ptr + pid * out1_stride0 + i1, value / (total + 0.0))
