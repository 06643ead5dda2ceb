//! Barriers: what is written before one is read behind it, by all warps, or by those that a count names.

use crate::harness::{HEADER, Kernel};

/// An entry `k(p)` with shared words `box[1024]`; thread in `%t`, warp in `%w`, `p + 4 t` in `%at`, `box + 4 t` in `%slot`.
fn body(text: &str) -> String {
    format!(
        "{HEADER}.entry k(.param .u64 p) {{
         .shared .align 4 .b32 box[1024];
         .reg .b32 %t, %w, %slot, %bx, %n, %r<20>;
         .reg .b64 %base, %at;
         .reg .pred %p<10>;
         mov.u32 %t, %tid.x;
         mov.u32 %n, %ntid.x;
         shr.u32 %w, %t, 5;
         mov.u32 %bx, box;
         mad.lo.u32 %slot, %t, 4, %bx;
         ld.param.u64 %base, [p];
         mad.wide.u32 %at, %t, 4, %base;
         {text}
         ret; }}"
    )
}

fn words(text: &str, threads: u32) -> Vec<u32> {
    let mut kernel = Kernel::new(&body(text), 1, threads);
    let out = kernel.unwritten("out", threads as usize);
    kernel.run(&[out]);
    kernel.read(out, threads as usize)
}

const REVERSE: &str = "sub.u32 %r1, %n, %t;
     sub.u32 %r1, %r1, 1;
     mad.lo.u32 %r2, %r1, 4, %bx;
     ld.shared.u32 %r3, [%r2];
     st.global.u32 [%at], %r3;";

#[test]
fn a_block_exchanges_words() {
    for barrier in ["bar.sync 0", "barrier.sync 3", "barrier.sync.aligned 15", "bar.sync 1, 256", "barrier.cta.sync 2"]
    {
        let out = words(&format!("st.shared.u32 [%slot], %t;\n{barrier};\n{REVERSE}"), 256);
        assert_eq!(out, (0..256).rev().collect::<Vec<_>>(), "{barrier}");
    }
}

#[test]
fn a_barrier_is_used_again_and_again() {
    // Each round every thread takes its left neighbour's word.
    let text = "mov.u32 %r5, 0;
         st.shared.u32 [%slot], %t;
         add.u32 %r1, %t, 1;
         rem.u32 %r1, %r1, %n;
         mad.lo.u32 %r2, %r1, 4, %bx;
         LOOP: bar.sync 0;
         ld.shared.u32 %r3, [%r2];
         bar.sync 0;
         st.shared.u32 [%slot], %r3;
         add.u32 %r5, %r5, 1;
         setp.lt.u32 %p1, %r5, 7;
         @%p1 bra LOOP;
         st.global.u32 [%at], %r3;";
    assert_eq!(words(text, 96), (0..96).map(|t| (t + 7) % 96).collect::<Vec<_>>());
}

#[test]
fn warps_that_have_exited_are_not_waited_for() {
    let text = "mov.u32 %r1, 7;
         st.global.u32 [%at], %r1;
         setp.eq.u32 %p1, %w, 1;
         @%p1 exit;
         st.shared.u32 [%slot], %t;
         bar.sync 0;
         xor.b32 %r1, %t, 64;
         mad.lo.u32 %r2, %r1, 4, %bx;
         ld.shared.u32 %r3, [%r2];
         st.global.u32 [%at], %r3;";
    let expected = |t: u32| if t / 32 == 1 { 7 } else { t ^ 64 };
    assert_eq!(words(text, 96), (0..96).map(expected).collect::<Vec<_>>());
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Warp 0 writes and goes on; warp 1 waits for it.
    let text = "setp.ne.u32 %p1, %w, 0;
         @%p1 bra CONSUME;
         st.shared.u32 [%slot], %t;
         bar.arrive 4, 64;
         st.global.u32 [%at], %t;
         ret;
         CONSUME: bar.sync 4, 64;
         sub.u32 %r1, %t, 32;
         mad.lo.u32 %r2, %r1, 4, %bx;
         ld.shared.u32 %r3, [%r2];
         add.u32 %r3, %r3, 100;
         st.global.u32 [%at], %r3;";
    let expected = |t: u32| if t < 32 { t } else { t - 32 + 100 };
    assert_eq!(words(text, 64), (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_ragged_warp_takes_part() {
    assert_eq!(
        words(&format!("st.shared.u32 [%slot], %t;\nbar.sync 0;\n{REVERSE}"), 75),
        (0..75).rev().collect::<Vec<_>>()
    );
}

#[test]
fn a_warp_that_polls_lets_the_others_run() {
    // Warp 0 waits for a flag that warp 1 sets.
    let text = "mov.u32 %r1, 0;
         setp.ne.u32 %p2, %t, 0;
         @!%p2 st.shared.u32 [%bx], %r1;
         bar.sync 0;
         setp.ne.u32 %p1, %w, 0;
         @%p1 bra SET;
         POLL: ld.volatile.shared.u32 %r1, [%bx];
         setp.eq.u32 %p3, %r1, 0;
         @%p3 bra POLL;
         st.global.u32 [%at], %r1;
         ret;
         SET: mov.u32 %r1, 5;
         setp.eq.u32 %p4, %t, 32;
         @%p4 st.volatile.shared.u32 [%bx], %r1;
         st.global.u32 [%at], %r1;";
    assert_eq!(words(text, 64), vec![5; 64]);
}
