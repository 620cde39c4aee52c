import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_max_subtract_exp_sum_f32(x0_ptr, x0_stride0, out1_ptr, out1_stride0):
    pid = tl.program_id(0)
    i1 = tl.arange(0, 1024)
    ptrs = x0_ptr + pid * x0_stride0
    x0 = tl.load(ptrs + i1)
    value = tl.maximum(float("-inf"), x0, propagate_nan=tl.PropagateNan.ALL)
    i1_1 = 1024 + i1
    x0_1 = tl.load(ptrs + i1_1)
    i1_2 = 2048 + i1
    x0_2 = tl.load(ptrs + i1_2)
    value_1 = tl.maximum(tl.maximum(value, x0_1, propagate_nan=tl.PropagateNan.ALL), x0_2, propagate_nan=tl.PropagateNan.ALL)
    i1_3 = 3072 + i1
    x0_3 = tl.load(ptrs + i1_3)
    largest = tl.max(tl.maximum(value_1, x0_3, propagate_nan=tl.PropagateNan.ALL), axis=0, propagate_nan=tl.PropagateNan.ALL)
    value_2 = tl.exp(x0 - largest)
    value_3 = tl.exp(x0_1 - largest)
    value_4 = tl.exp(x0_2 - largest)
    value_5 = tl.exp(x0_3 - largest)
    total = tl.sum(0.0 + value_2 + value_3 + value_4 + value_5, axis=0)
    ptrs_1 = out1_ptr + pid * out1_stride0
    tl.store(ptrs_1 + i1, value_2 / total)
    tl.store(ptrs_1 + i1_1, value_3 / total)
    tl.store(ptrs_1 + i1_2, value_4 / total)
    tl.store(ptrs_1 + i1_3, value_5 / total)
