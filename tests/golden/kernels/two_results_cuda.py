import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_sqrt_less_i1(n0, x0_ptr, c0, out1_ptr, out2_ptr):
    i0 = tl.program_id(0) * 2048 + tl.arange(0, 2048)
    mask0 = i0 < n0
    x0 = tl.load(x0_ptr + i0, mask=mask0)
    tl.store(out1_ptr + i0, tl.sqrt(x0), mask=mask0)
    tl.store(out2_ptr + i0, x0 < c0, mask=mask0)
