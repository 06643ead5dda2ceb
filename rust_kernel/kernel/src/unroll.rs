//! Loops that leave no loop behind, and loops that stay.

/// `unrolled!(i in 0..N { body })`: N copies of the body, with `i` a constant `usize` in each.
///
/// Every array of the kernels lives in registers, and registers have no addresses: an index that is still a variable
/// after optimisation would move the whole array to local memory. LLVM alone leaves some of these loops rolled, so
/// the request is made to cuda-oxide, whose own pass runs before LLVM. Its `#[unroll]` attribute is read only in the
/// body of a `#[kernel]` or `#[device]` function; this macro places the marker that the attribute stands for, and so
/// works in plain inlined helpers too.
macro_rules! unrolled {
    ($i:ident in 0..$n:expr, $body:block) => {{
        let mut $i: usize = 0;
        while $i < const { $n } {
            ::cuda_device::thread::__unroll_config::<0>();
            $body
            $i += 1;
        }
    }};
}
pub(crate) use unrolled;

/// Tells ptxas to leave the loop whose body this stands in as it is. Of one that is rarely gone through twice, more copies
/// only cost registers and a longer way through the instruction cache.
#[inline(always)]
pub fn keep_rolled() {
    // SAFETY: a directive; no instruction comes of it.
    unsafe { ::cuda_device::ptx_asm!(".pragma \"nounroll\";") };
}
