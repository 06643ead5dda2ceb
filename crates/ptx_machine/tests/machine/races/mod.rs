//! Races: each rule with a kernel that breaks it and one that keeps it.

mod atomics;
mod copies;
mod divergence;
mod early;
mod fences;
mod global;
mod oracle;
mod shared;

use ptx_machine::{Fault, FaultKind};

use crate::harness::{HEADER, Kernel};

/// An entry `k(p)` with 4096 bytes `box` of shared memory. Thread in `%t`, block in `%c`, warp in `%w`, lane in `%l`;
/// `box + 4 t` in `%slot`, `p` in `%base`, `p + 4 t` in `%at`. `%one` lane of the block is true in `%first`.
pub fn kernel(text: &str) -> String {
    format!(
        "{HEADER}.entry k(.param .u64 p) {{
         .shared .align 16 .b8 box[4096];
         .reg .b16 %h<9>;
         .reg .b32 %t, %c, %w, %l, %bx, %slot, %r<20>;
         .reg .b64 %base, %at, %rd<10>;
         .reg .pred %first, %p<10>;
         mov.u32 %t, %tid.x;
         mov.u32 %c, %ctaid.x;
         shr.u32 %w, %t, 5;
         and.b32 %l, %t, 31;
         setp.eq.u32 %first, %t, 0;
         mov.u32 %bx, box;
         mad.lo.u32 %slot, %t, 4, %bx;
         ld.param.u64 %base, [p];
         mad.wide.u32 %at, %t, 4, %base;
         {text}
         ret; }}"
    )
}

/// What is wrong with the kernel, if anything is, in the machine's order of execution, on one and on more host threads,
/// and in some that are drawn: always the same kind of fault.
pub fn verdict(text: &str, grid: u32, block: u32) -> Option<Fault> {
    let run = |threads, schedule| verdict_in(threads, schedule, text, grid, block);
    let found = run(1, None);
    let kind = |fault: &Option<Fault>| fault.as_ref().map(|f| f.kind);
    // Which of two racing blocks comes first is chance, but not what is reported.
    assert_eq!(run(4, None), found, "{text}");
    for seed in 0..6 {
        let other = run(1, Some(seed));
        assert_eq!(kind(&other), kind(&found), "schedule {seed}, {other:?}: {text}");
    }
    found
}

/// What is wrong with the kernel in one order of execution.
pub fn verdict_in(threads: usize, schedule: Option<u64>, text: &str, grid: u32, block: u32) -> Option<Fault> {
    let mut kernel = Kernel::new(&kernel(text), grid, block);
    kernel.config.threads = threads;
    kernel.config.schedule = schedule;
    let words = kernel.words("data", &(0..2048).collect::<Vec<_>>());
    kernel.verdict(&[words])
}

pub fn is_clean(text: &str, grid: u32, block: u32) {
    let found = verdict(text, grid, block);
    assert!(found.is_none(), "{}: {text}", found.unwrap());
}

/// The report of a kernel that races.
pub fn races(text: &str, grid: u32, block: u32) -> Fault {
    let found = verdict(text, grid, block).unwrap_or_else(|| panic!("no race: {text}"));
    assert_eq!(found.kind, FaultKind::Race, "{found}");
    found
}
