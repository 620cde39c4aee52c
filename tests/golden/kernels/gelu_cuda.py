import lazyblock as lb
import lazyblock.language as tl


@lb.jit
def fused_multiply_add_tanh_f32(n0, x0_ptr, c0, out1_ptr):
    i0 = tl.program_id(0) * 512 + tl.arange(0, 512)
    mask0 = i0 < n0
    x0 = tl.load(x0_ptr + i0, mask=mask0)
    tl.store(out1_ptr + i0, x0 * (tl.extra.libdevice.tanh(x0 + x0 * (x0 * x0)) + c0), mask=mask0)
