import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_add_f32(tiles1, n1, x0_ptr, x0_stride0, x1_ptr, out2_ptr, out2_stride0):
    pid = tl.program_id(0)
    start = pid // tiles1
    i1 = pid % tiles1 * 512 + tl.arange(0, 512)
    mask1 = i1 < n1
    x0 = tl.load(x0_ptr + start * x0_stride0 + i1, mask=mask1)
    x1 = tl.load(x1_ptr + i1, mask=mask1)
    tl.store(out2_ptr + start * out2_stride0 + i1, x0 + x1, mask=mask1)
