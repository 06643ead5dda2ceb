//! Wide loads.
//!
//! In inline PTX, because only so is their width certain: LLVM splits a vector load whose lanes are used apart. Those
//! of K, V and q take the non-coherent path and are `register_only` and `may_diverge`. That claims that the result
//! depends on the operands alone and that lanes may take part or not, which holds for a load (no collective) of memory
//! that stays as it is.
//!
//! The kernel before this one may still write K, V and q while this one is placed. But it has ended when this one has
//! waited for it (`dependent.rs`), and no one writes them from there on. Every load's address comes from behind that
//! wait, and ahead of it nothing is read that the non-coherent path could keep: prefetches go to the L2, which takes all
//! writes.

use cuda_device::ptx_asm;

/// 16 bytes.
///
/// # Safety
/// `address` is a multiple of 16 in global memory that is readable and that no one writes once the kernel has waited for the
/// one before it; it comes from behind that wait.
#[inline(always)]
pub unsafe fn load_16(address: *const u8) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: the caller's promise makes the read valid and its result constant.
    unsafe {
        ptx_asm!(
            "ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];",
            out("=r") a,
            out("=r") b,
            out("=r") c,
            out("=r") d,
            in("l") address as u64,
            options(register_only, may_diverge),
        );
    }
    [a, b, c, d]
}

/// 8 bytes.
///
/// # Safety
/// As [`load_16`], with a multiple of 8.
#[inline(always)]
pub unsafe fn load_8(address: *const u8) -> [u32; 2] {
    let (a, b): (u32, u32);
    // SAFETY: as in `load_16`.
    unsafe {
        ptx_asm!(
            "ld.global.nc.v2.u32 {%0, %1}, [%2];",
            out("=r") a,
            out("=r") b,
            in("l") address as u64,
            options(register_only, may_diverge),
        );
    }
    [a, b]
}

/// 16 bytes, or zeros without a read where `live` is false.
///
/// # Safety
/// As [`load_16`] if `live`; otherwise `address` may be anything.
#[inline(always)]
pub unsafe fn load_16_if(live: bool, address: *const u8) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: as in `load_16`, the predicate being false where the address may not be read. The 32-bit input is read
    // before an output is written, so it does no harm if they share a register.
    unsafe {
        ptx_asm!(
            "{ .reg .pred live; setp.ne.u32 live, %5, 0; \
             mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0; \
             @live ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }",
            out("=r") a,
            out("=r") b,
            out("=r") c,
            out("=r") d,
            in("l") address as u64,
            in("r") u32::from(live),
            options(register_only, may_diverge),
        );
    }
    [a, b, c, d]
}

/// 8 bytes, or zeros without a read where `live` is false.
///
/// # Safety
/// As [`load_8`] if `live`; otherwise `address` may be anything.
#[inline(always)]
pub unsafe fn load_8_if(live: bool, address: *const u8) -> [u32; 2] {
    let (a, b): (u32, u32);
    // SAFETY: as in `load_16_if`.
    unsafe {
        ptx_asm!(
            "{ .reg .pred live; setp.ne.u32 live, %3, 0; mov.u32 %0, 0; mov.u32 %1, 0; \
             @live ld.global.nc.v2.u32 {%0, %1}, [%2]; }",
            out("=r") a,
            out("=r") b,
            in("l") address as u64,
            in("r") u32::from(live),
            options(register_only, may_diverge),
        );
    }
    [a, b]
}

/// 16 bytes of shared memory, in order with the copies and waits of `ring.rs`.
///
/// # Safety
/// `address` is one of the shared window, a multiple of 16, and this lane may read the 16 bytes there; all lanes of the
/// warp are here.
#[inline(always)]
pub unsafe fn read_shared_16(address: u32) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: the caller's promise. With side effects and memory clobbered, the read stays between what stands before
    // and after it; the warp is whole, as the default options demand.
    unsafe {
        ptx_asm!(
            "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];",
            out("=r") a,
            out("=r") b,
            out("=r") c,
            out("=r") d,
            in("r") address,
            clobber("memory"),
        );
    }
    [a, b, c, d]
}
