//! Atomic operations: strong, of a scope, and with a release or an acquire where they say so or a fence does.

use ptx_machine::FaultKind;

use super::{is_clean, races, verdict_in};

#[test]
fn atomic_operations_on_one_word_do_not_race() {
    is_clean("atom.global.add.u32 %r1, [%base], 1;\nred.global.add.u32 [%base], 1;", 3, 64);
    is_clean("atom.shared.add.u32 %r1, [%slot], 1;\nbar.sync 0;\nred.shared.max.u32 [%slot], 1;", 2, 64);
    // Strong loads and stores of the same bytes meet them.
    is_clean("red.relaxed.gpu.global.add.u32 [%base], 1;\nld.relaxed.gpu.global.u32 %r1, [%base];", 2, 64);
}

#[test]
fn atomic_operations_race_with_weak_accesses() {
    races("red.global.add.u32 [%base], 1;\nld.global.u32 %r1, [%base];", 1, 64);
    races("@%first st.global.u32 [%base], %t;\nred.global.add.u32 [%base], 1;", 1, 64);
    is_clean(
        "@%first st.global.u32 [%base], %t;\nbar.sync 0;\nred.global.add.u32 [%base], 1;\nbar.sync 0;\nld.global.u32 %r1, [%base];",
        1,
        64,
    );
    // A barrier is of one block.
    races("red.global.add.u32 [%base], 1;\nbar.sync 0;\nld.global.u32 %r1, [%base];", 2, 64);
}

#[test]
fn a_scope_of_the_block_is_too_narrow_for_two_blocks() {
    is_clean("atom.relaxed.cta.global.add.u32 %r1, [%base], 1;", 1, 64);
    races("atom.relaxed.cta.global.add.u32 %r1, [%base], 1;", 2, 64);
    races(
        "setp.eq.u32 %p1, %c, 0;\n@%p1 red.relaxed.cta.global.add.u32 [%base], 1;\n@!%p1 red.relaxed.gpu.global.add.u32 [%base], 1;",
        2,
        64,
    );
}

/// Each block writes 64 words and takes a ticket; the last of three reads them all.
fn last_block_reads(before: &str, ticket: &str, after: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %c, 64, %t;
         mul.wide.u32 %rd1, %r1, 4;
         add.u64 %rd1, %rd1, %base;
         st.global.u32 [%rd1+1024], %t;
         {before}
         @%first {ticket} %r5, [%base], 1;
         @%first st.shared.u32 [%bx], %r5;
         bar.sync 0;
         ld.shared.u32 %r6, [%bx];
         setp.ne.u32 %p1, %r6, 2;
         @%p1 exit;
         {after}
         ld.global.u32 %r7, [%at+1024];
         ld.global.u32 %r8, [%at+1280];
         ld.global.u32 %r9, [%at+1536];"
    )
}

#[test]
fn the_last_block_reads_what_the_others_wrote() {
    let relaxed = "atom.relaxed.gpu.global.add.u32";
    is_clean(&last_block_reads("bar.sync 0;", "atom.acq_rel.gpu.global.add.u32", ""), 3, 64);
    is_clean(&last_block_reads("membar.gl;\nbar.sync 0;", "atom.global.add.u32", "membar.gl;"), 3, 64);
    let fence = "bar.sync 0;\n@%first fence.acq_rel.gpu;";
    // The thread that took the ticket has to acquire for the block, before the barrier.
    let acquire = "atom.acquire.gpu.global.add.u32";
    is_clean(&last_block_reads(fence, acquire, ""), 3, 64);
    // No fence; a fence for the block alone; no barrier before the ticket; nothing acquired.
    races(&last_block_reads("bar.sync 0;", relaxed, "membar.gl;"), 3, 64);
    races(&last_block_reads("membar.cta;\nbar.sync 0;", relaxed, "membar.gl;"), 3, 64);
    races(&last_block_reads("@%first membar.gl;", relaxed, "membar.gl;"), 3, 64);
    races(&last_block_reads("membar.gl;\nbar.sync 0;", relaxed, ""), 3, 64);
    races(&last_block_reads(fence, relaxed, "fence.acq_rel.gpu;"), 3, 64);
    races(&last_block_reads("bar.sync 0;", "atom.acquire.gpu.global.add.u32", ""), 3, 64);
    races(&last_block_reads("bar.sync 0;", "atom.release.gpu.global.add.u32", ""), 3, 64);
    races(&last_block_reads("bar.sync 0;", "atom.acq_rel.cta.global.add.u32", ""), 3, 64);
}

/// One thread of each block adds to a plain word under a lock.
fn locked(lock: &str, unlock: &str) -> String {
    format!(
        "@!%first exit;
         SPIN: {lock} %r1, [%base], 0, 1;
         setp.ne.u32 %p1, %r1, 0;
         @%p1 bra SPIN;
         ld.global.u32 %r2, [%base+4];
         add.u32 %r2, %r2, 1;
         st.global.u32 [%base+4], %r2;
         {unlock}"
    )
}

#[test]
fn a_lock_orders_those_who_hold_it() {
    let lock = "atom.acquire.gpu.global.cas.b32";
    is_clean(&locked(lock, "st.release.gpu.global.u32 [%base], 0;"), 4, 32);
    is_clean(&locked(lock, "atom.release.gpu.global.exch.b32 %r3, [%base], 0;"), 4, 32);
    is_clean(&locked(lock, "membar.gl;\nst.volatile.global.u32 [%base], 0;"), 4, 32);
    races(&locked(lock, "st.relaxed.gpu.global.u32 [%base], 0;"), 4, 32);
    races(&locked("atom.relaxed.gpu.global.cas.b32", "st.release.gpu.global.u32 [%base], 0;"), 4, 32);
}

#[test]
fn atomic_operations_carry_on_what_was_released() {
    // Block 0 releases; block 1 only adds to the flag; block 2 acquires the sum.
    let text = |add: &str| {
        format!(
            "@!%first exit;
             setp.eq.u32 %p1, %c, 1;
             setp.eq.u32 %p2, %c, 2;
             @%p1 bra ADD;
             @%p2 bra LAST;
             st.global.u32 [%base+8], %t;
             st.release.gpu.global.u32 [%base], 100;
             exit;
             ADD: ld.relaxed.gpu.global.u32 %r2, [%base];
             setp.ne.u32 %p3, %r2, 100;
             @%p3 bra ADD;
             {add}
             exit;
             LAST: ld.acquire.gpu.global.u32 %r2, [%base];
             setp.ne.u32 %p3, %r2, 101;
             @%p3 bra LAST;
             ld.global.u32 %r3, [%base+8];"
        )
    };
    is_clean(&text("red.relaxed.gpu.global.add.u32 [%base], 1;"), 3, 32);
    is_clean(&text("atom.relaxed.gpu.global.add.u32 %r4, [%base], 1;"), 3, 32);
    // A store starts anew. In other orders block 2 may see the flag before it, and so have acquired it.
    let fault = verdict_in(1, None, &text("st.relaxed.gpu.global.u32 [%base], 101;"), 3, 32);
    assert_eq!(fault.map(|f| f.kind), Some(FaultKind::Race));
}
