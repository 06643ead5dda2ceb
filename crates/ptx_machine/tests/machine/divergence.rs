//! Lanes that part and meet again.

use crate::harness::{Kernel, body};

/// Runs a kernel over one or more warps that writes a word a thread to `p`, and gives those words.
fn words(text: &str, threads: u32) -> Vec<u32> {
    let mut kernel = Kernel::new(&body(text), 1, threads);
    let out = kernel.unwritten("out", threads as usize);
    kernel.run(&[out]);
    kernel.read(out, threads as usize)
}

#[test]
fn both_sides_of_a_branch_run_and_meet() {
    let out = words(
        "setp.lt.u32 %p1, %t, 11;
         @%p1 bra LOW;
         mov.u32 %r1, 200;
         bra MEET;
         LOW: mov.u32 %r1, 100;
         MEET: activemask.b32 %r2;
         setp.eq.u32 %p2, %r2, -1;
         selp.u32 %r3, 1, 0, %p2;
         add.u32 %r1, %r1, %r3;
         st.global.u32 [%at], %r1;",
        32,
    );
    let expected: Vec<u32> = (0..32).map(|t| if t < 11 { 101 } else { 201 }).collect();
    assert_eq!(out, expected);
}

#[test]
fn lanes_that_part_see_only_each_other() {
    let out = words(
        "and.b32 %r1, %t, 1;
         setp.eq.u32 %p1, %r1, 0;
         @%p1 bra EVEN;
         activemask.b32 %r2;
         bra MEET;
         EVEN: activemask.b32 %r2;
         MEET: st.global.u32 [%at], %r2;",
        32,
    );
    let expected: Vec<u32> = (0..32).map(|t| if t % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa }).collect();
    assert_eq!(out, expected);
}

#[test]
fn loops_end_for_each_lane_by_itself() {
    // The sum 1 + 2 + … + t, and who is there behind the loop.
    let out = words(
        "mov.u32 %r1, 0;
         mov.u32 %r2, %t;
         LOOP: setp.eq.u32 %p1, %r2, 0;
         @%p1 bra DONE;
         add.u32 %r1, %r1, %r2;
         sub.u32 %r2, %r2, 1;
         bra LOOP;
         DONE: activemask.b32 %r3;
         popc.b32 %r3, %r3;
         mad.lo.u32 %r1, %r3, 10000, %r1;
         st.global.u32 [%at], %r1;",
        40,
    );
    let expected: Vec<u32> = (0..40).map(|t| t * (t + 1) / 2 + if t < 32 { 320_000 } else { 80_000 }).collect();
    assert_eq!(out, expected);
}

#[test]
fn nested_loops_and_branches() {
    // For i < t: if i is odd, add i·j for j < i, else subtract 1, leaving the inner loop at 5.
    let out = words(
        "mov.u32 %r1, 0;
         mov.u32 %r2, 0;
         OUTER: setp.ge.u32 %p1, %r2, %t;
         @%p1 bra END;
         and.b32 %r3, %r2, 1;
         setp.eq.u32 %p2, %r3, 0;
         @%p2 bra EVEN;
         mov.u32 %r4, 0;
         INNER: setp.ge.u32 %p3, %r4, %r2;
         @%p3 bra NEXT;
         mad.lo.u32 %r1, %r2, %r4, %r1;
         add.u32 %r4, %r4, 1;
         setp.eq.u32 %p4, %r4, 5;
         @!%p4 bra INNER;
         bra NEXT;
         EVEN: sub.u32 %r1, %r1, 1;
         NEXT: add.u32 %r2, %r2, 1;
         bra OUTER;
         END: st.global.u32 [%at], %r1;",
        64,
    );
    let expected = |t: u32| {
        (0..t).fold(0u32, |sum, i| {
            if i % 2 == 0 { sum.wrapping_sub(1) } else { (0..i.min(5)).fold(sum, |s, j| s.wrapping_add(i * j)) }
        })
    };
    assert_eq!(out, (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn lanes_exit_early() {
    let out = words(
        "mov.u32 %r1, 1;
         st.global.u32 [%at], %r1;
         setp.lt.u32 %p1, %t, 5;
         @%p1 exit;
         setp.gt.u32 %p2, %t, 20;
         @%p2 bra OUT;
         activemask.b32 %r2;
         popc.b32 %r2, %r2;
         st.global.u32 [%at], %r2;
         ret;
         OUT: setp.gt.u32 %p3, %t, 30;
         @%p3 ret;
         mov.u32 %r2, 77;
         st.global.u32 [%at], %r2;",
        32,
    );
    let expected = |t| match t {
        0..5 | 31 => 1,
        5..=20 => 16,
        _ => 77,
    };
    assert_eq!(out, (0..32).map(expected).collect::<Vec<_>>());
}

#[test]
fn lanes_that_exit_in_a_loop_leave_the_others_running() {
    let out = words(
        "mov.u32 %r1, 0;
         LOOP: add.u32 %r1, %r1, 3;
         st.global.u32 [%at], %r1;
         setp.ge.u32 %p1, %r1, %t;
         @%p1 exit;
         bra LOOP;",
        32,
    );
    assert_eq!(out, (0..32u32).map(|t| t.div_ceil(3).max(1) * 3).collect::<Vec<_>>());
}

#[test]
fn predicated_instructions_write_only_their_lanes() {
    let out = words(
        "mov.u32 %r1, 5;
         setp.gt.u32 %p1, %t, 9;
         @%p1 mov.u32 %r1, 6;
         @!%p1 add.u32 %r1, %r1, 10;
         st.global.u32 [%at], %r1;",
        33,
    );
    assert_eq!(out, (0..33).map(|t| if t > 9 { 6 } else { 15 }).collect::<Vec<_>>());
}

#[test]
fn divergent_branches_are_counted_and_uniform_ones_are_not() {
    let text = body(
        "setp.lt.u32 %p1, %t, 32;
         @%p1 bra A;
         A: setp.lt.u32 %p2, %t, 40;
         @%p2 bra B;
         B: st.relaxed.gpu.global.u32 [%at], %t;",
    );
    let mut kernel = Kernel::new(&text, 3, 64);
    let out = kernel.unwritten("out", 64);
    let stats = kernel.run(&[out]);
    assert_eq!((stats.blocks, stats.warps, stats.divergent_branches), (3, 6, 3));
    // Of the second warp no lane takes the first branch, and 8 take the second.
    assert_eq!(stats.thread_instructions, 3 * (32 * 9 + 32 * 7 + 8));
}

#[test]
fn labels_may_repeat_in_blocks_of_their_own() {
    let out = words(
        "mov.u32 %r1, 0;
         { .reg .u32 %x; mov.u32 %x, 4; AGAIN: add.u32 %r1, %r1, 1; sub.u32 %x, %x, 1;
           setp.ne.u32 %p1, %x, 0; @%p1 bra AGAIN; }
         { .reg .u32 %x; mov.u32 %x, 2; AGAIN: add.u32 %r1, %r1, 10; sub.u32 %x, %x, 1;
           setp.ne.u32 %p1, %x, 0; @%p1 bra AGAIN; }
         st.global.u32 [%at], %r1;",
        32,
    );
    assert_eq!(out, vec![24; 32]);
}
