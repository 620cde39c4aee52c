import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_add_f32(tiles1, n1, n0, x0_ptr, x0_stride0, x1_ptr, out2_ptr, out2_stride0):
    pid = tl.program_id(0)
    i1 = pid % tiles1 * 128 + tl.arange(0, 128)[None, :]
    mask1 = i1 < n1
    i0 = pid // tiles1 * 8 + tl.arange(0, 8)[:, None]
    mask0 = i0 < n0
    mask = mask0 & mask1
    x0 = tl.load(x0_ptr + i1 + i0 * x0_stride0, mask=mask)
    x1 = tl.load(x1_ptr + i1, mask=mask1)
    tl.store(out2_ptr + i1 + i0 * out2_stride0, x0 + x1, mask=mask)
