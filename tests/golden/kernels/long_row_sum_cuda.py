import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_sum_f32(n1, x0_ptr, x0_stride0, out1_ptr):
    pid = tl.program_id(0)
    value = tl.zeros((8192,), tl.float32)
    for i in range(0, n1, 8192):
        i1 = i + tl.arange(0, 8192)
        mask1 = i1 < n1
        x0 = tl.load(x0_ptr + pid * x0_stride0 + i1, mask=mask1)
        value = value + tl.where(mask1, x0, 0.0)
    total = tl.sum(value, axis=0)
    tl.store(out1_ptr + pid, total)
