//! Programmatic dependent launch: a kernel may start while the one before it on the stream still runs.
//!
//! So started, it must not touch memory that others write before it has waited for that kernel to end. Until then it
//! may place itself and prefetch: the L2 takes the writes of all, so what a prefetch brings there is never stale. After
//! a plain launch both instructions do nothing. Architectures before sm_90 have neither.

use cuda_device::ptx_asm;

use crate::target::CAN_START_EARLY;

/// Lets the next kernel of the stream start, as soon as every block has come here or ended.
#[inline(always)]
pub fn let_next_start() {
    if CAN_START_EARLY {
        // SAFETY: the next kernel waits for the end of this one before it touches what this one writes.
        unsafe { ptx_asm!("griddepcontrol.launch_dependents;", clobber("memory")) };
    }
}

/// Waits until the kernel before this one has ended and its writes are visible, and returns the addresses as they are.
///
/// They are to be used in place of what was passed: LLVM may move a load of constant memory (`memory.rs`) anywhere but
/// ahead of its address, and these come from behind the wait.
#[inline(always)]
pub fn wait_for_previous<const N: usize>(addresses: [u64; N]) -> [u64; N] {
    if !CAN_START_EARLY {
        return addresses;
    }
    // SAFETY: waits, and touches nothing.
    unsafe { ptx_asm!("griddepcontrol.wait;", clobber("memory")) };
    let mut after = [0; N];
    crate::unroll::unrolled!(i in 0..N, {
        let address: u64;
        // SAFETY: copies a register. With the default options it stays behind the wait.
        unsafe { ptx_asm!("mov.b64 %0, %1;", out("=l") address, in("l") addresses[i], clobber("memory")) };
        after[i] = address;
    });
    after
}

/// Asks for the line at `address` to be brought to the L2, where `live`.
///
/// # Safety
/// `address` is one of global memory if `live`; otherwise it may be anything.
#[inline(always)]
pub unsafe fn prefetch_if(live: bool, address: *const u8) {
    // SAFETY: reads nothing into the program; the caller vouches for the address.
    unsafe {
        ptx_asm!(
            "{ .reg .pred live; setp.ne.u32 live, %1, 0; @live prefetch.global.L2 [%0]; }",
            in("l") address as u64,
            in("r") u32::from(live),
            clobber("memory"),
        );
    }
}
