//! Shared memory: barriers of the block and of the warp.

use super::{is_clean, races};

/// Each thread stores its own word and loads that of thread `t ^ distance`.
fn exchange(distance: u32, between: &str) -> String {
    format!(
        "st.shared.u32 [%slot], %t;
         {between}
         xor.b32 %r1, %t, {distance};
         mad.lo.u32 %r2, %r1, 4, %bx;
         ld.shared.u32 %r3, [%r2];"
    )
}

#[test]
fn a_read_after_a_write() {
    let f = races(&exchange(1, ""), 1, 32);
    assert_eq!(f.message, "nothing orders this load of `box`+4 and the store of line 19 by lane 1 of the same warp");
    assert_eq!((f.line, f.warp, f.lane), (23, 0, Some(0)));
    is_clean(&exchange(1, "bar.warp.sync -1;"), 1, 32);
    is_clean(&exchange(1, "bar.sync 0;"), 1, 64);
    let f = races(&exchange(32, "bar.warp.sync -1;"), 1, 64);
    assert!(f.message.contains("warp 0, lane 0 of the same block"), "{f}");
    is_clean(&exchange(32, "bar.sync 0;"), 1, 64);
    is_clean(&exchange(32, "barrier.sync 3, 64;"), 1, 64);
}

#[test]
fn a_thread_does_not_race_with_itself() {
    is_clean(&exchange(0, ""), 1, 64);
    is_clean("ld.shared.u32 %r1, [%slot];\nst.shared.u32 [%slot], %t;\nst.shared.u32 [%slot], %c;", 1, 64);
}

#[test]
fn a_write_after_a_read() {
    let text = |between: &str| {
        format!(
            "xor.b32 %r1, %t, 1;\nmad.lo.u32 %r2, %r1, 4, %bx;\nld.shared.u32 %r3, [%r2];\n{between}\nst.shared.u32 [%slot], %t;"
        )
    };
    let f = races(&text(""), 1, 32);
    assert_eq!(f.message, "nothing orders this store of `box`+0 and the load of line 21 by lane 1 of the same warp");
    is_clean(&text("bar.warp.sync -1;"), 1, 32);
    is_clean(&text("bar.sync 0;"), 1, 32);
}

#[test]
fn the_second_barrier_of_a_loop_is_missing() {
    let text = |second: &str| {
        format!(
            "mov.u32 %r5, 0;
             LOOP: st.shared.u32 [%slot], %r5;
             bar.sync 0;
             xor.b32 %r1, %t, 33;
             mad.lo.u32 %r2, %r1, 4, %bx;
             ld.shared.u32 %r3, [%r2];
             {second}
             add.u32 %r5, %r5, 1;
             setp.lt.u32 %p1, %r5, 4;
             @%p1 bra LOOP;"
        )
    };
    races(&text(""), 1, 64);
    is_clean(&text("bar.sync 0;"), 1, 64);
}

#[test]
fn a_write_after_a_write() {
    let f = races("st.shared.u32 [%bx], %t;", 1, 32);
    assert_eq!(
        f.message,
        "nothing orders this store of `box`+0 and the store of line 19 by lane 0 in the same step, with another value"
    );
    let f = races("st.shared.u32 [%bx+8], 7;", 1, 2);
    assert!(
        f.message.ends_with("`box`+8 and the store of line 19 by lane 0 in the same step, with the same value"),
        "{f}"
    );
    races("@%first st.shared.u32 [%bx], %t;\nsetp.eq.u32 %p1, %t, 40;\n@%p1 st.shared.u32 [%bx], %t;", 1, 64);
    is_clean(
        "@%first st.shared.u32 [%bx], %t;\nbar.sync 0;\nsetp.eq.u32 %p1, %t, 40;\n@%p1 st.shared.u32 [%bx], %t;",
        1,
        64,
    );
}

#[test]
fn reads_alone_do_not_race() {
    is_clean(
        "@%first st.shared.u32 [%bx], %t;\nbar.sync 0;\nld.shared.u32 %r1, [%bx];\nld.shared.u32 %r2, [%bx];\n\
         bar.sync 0;\nld.shared.u32 %r1, [%bx];\nbar.sync 0;\nsetp.eq.u32 %p1, %t, 77;\n@%p1 st.shared.u32 [%bx], %t;",
        1,
        128,
    );
    // One of many readers has not come to the barrier yet.
    races(
        "ld.shared.u32 %r1, [%bx];\nbar.sync 0;\nld.shared.u32 %r1, [%bx];\nsetp.eq.u32 %p1, %t, 77;\n@%p1 st.shared.u32 [%bx], %t;",
        1,
        128,
    );
}

#[test]
fn shuffles_and_votes_order_nothing() {
    let shuffle = "shfl.sync.bfly.b32 %r9, %t, 1, 31, -1;";
    races(&exchange(1, shuffle), 1, 32);
    races(&exchange(1, "vote.sync.ballot.b32 %r9, %first, -1;"), 1, 32);
    is_clean(&exchange(1, &format!("{shuffle} bar.warp.sync -1;")), 1, 32);
}

#[test]
fn bytes_of_a_word_are_apart() {
    let store = |ty: &str, register: &str| {
        let size = if ty == "u8" { 1 } else { 2 };
        format!("mad.lo.u32 %r1, %t, {size}, %bx;\ncvt.u16.u32 %h1, %t;\nst.shared.{ty} [%r1], {register};")
    };
    for ty in ["u8", "u16"] {
        let own = store(ty, "%h1");
        is_clean(&own, 1, 32);
        is_clean(&format!("{own}\nbar.sync 0;\nld.shared.u32 %r3, [%slot];\nbar.sync 0;\n{own}"), 1, 64);
        // A word is loaded whose other bytes are other lanes'.
        races(&format!("{own}\nand.b32 %r2, %r1, -4;\nld.shared.u32 %r3, [%r2];"), 1, 32);
    }
    // A half of a word, and a byte of it.
    races(
        "setp.eq.u32 %p1, %t, 1;\nmov.u16 %h1, 5;\n@%first st.shared.u16 [%bx+2], %h1;\n@%p1 st.shared.u8 [%bx+3], %h1;",
        1,
        32,
    );
    is_clean(
        "setp.eq.u32 %p1, %t, 1;\nmov.u16 %h1, 5;\n@%first st.shared.u16 [%bx+2], %h1;\n@%p1 st.shared.u8 [%bx+1], %h1;",
        1,
        32,
    );
}

#[test]
fn wide_accesses_are_all_their_words() {
    let text = |offset: u32, between: &str| {
        format!(
            "@%first st.shared.v4.u32 [%bx+16], {{%t, %t, %t, %t}};
             {between}
             setp.eq.u32 %p1, %t, 9;
             @%p1 ld.shared.u32 %r1, [%bx+{offset}];
             @%p1 ld.shared.u64 %rd1, [%bx+8];"
        )
    };
    let f = races(&text(28, ""), 1, 32);
    assert!(f.message.contains("`box`+28"), "{f}");
    is_clean(&text(32, ""), 1, 32);
    is_clean(&text(28, "bar.warp.sync -1;"), 1, 32);
    races("@%first st.shared.u64 [%bx], %base;\nsetp.eq.u32 %p1, %t, 9;\n@%p1 ld.shared.u32 %r1, [%bx+4];", 1, 32);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Warp 0 fills the box, warp 1 empties it; then warp 0 fills it again, once warp 1 has said that it may.
    let text = |back: &str, wait: &str| {
        format!(
            "setp.ne.u32 %p1, %w, 0;
             @%p1 bra CONSUME;
             st.shared.u32 [%slot], %t;
             bar.arrive 1, 64;
             {wait}
             st.shared.u32 [%slot], %t;
             ret;
             CONSUME: bar.sync 1, 64;
             ld.shared.u32 %r3, [%slot+-128];
             {back}"
        )
    };
    is_clean(&text("bar.arrive 2, 64;", "bar.sync 2, 64;"), 1, 64);
    races(&text("", ""), 1, 64);
    // To arrive orders what was done before, for others; it does not wait.
    races(
        "st.shared.u32 [%slot], %t;\nbar.arrive 1, 64;\nxor.b32 %r1, %t, 1;\nmad.lo.u32 %r2, %r1, 4, %bx;\nld.shared.u32 %r3, [%r2];\nbar.sync 2;",
        1,
        64,
    );
}

#[test]
fn a_counted_barrier_orders_those_who_come() {
    let text = |who: u32| {
        format!(
            "setp.lt.u32 %p1, %w, 2;
             setp.eq.u32 %p2, %t, 0;
             @%p2 st.shared.u32 [%bx], %t;
             @%p1 bar.sync 1, 64;
             setp.eq.u32 %p3, %t, {who};
             @%p3 ld.shared.u32 %r1, [%bx];"
        )
    };
    is_clean(&text(45), 1, 96);
    races(&text(70), 1, 96);
}

#[test]
fn those_who_have_exited_did_not_come_to_the_barrier() {
    let text = |wait: &str| {
        format!(
            "setp.eq.u32 %p1, %w, 0;
             @%p1 st.shared.u32 [%slot], %t;
             {wait}
             @%p1 exit;
             bar.sync 0;
             ld.shared.u32 %r1, [%slot+-128];"
        )
    };
    races(&text(""), 1, 64);
    is_clean(&text("bar.sync 0;"), 1, 64);
    // The same for lanes of a warp.
    let text = |wait: &str| {
        format!(
            "@%first st.shared.u32 [%slot], %t;
             {wait}
             @%first exit;
             bar.warp.sync 0xfffffffe;
             ld.shared.u32 %r1, [%bx];"
        )
    };
    races(&text(""), 1, 32);
    is_clean(&text("bar.warp.sync -1;"), 1, 32);
}

#[test]
fn lanes_that_do_not_exist_change_nothing() {
    is_clean(&exchange(1, "bar.warp.sync 0xff;"), 1, 8);
    is_clean(
        &exchange(32, "bar.sync 0;\n")
            .replace("ld.shared", "@%p1 ld.shared")
            .replace("xor", "setp.lt.u32 %p1, %t, 8;\nxor"),
        1,
        40,
    );
    races(&exchange(1, ""), 1, 8);
}

#[test]
fn a_block_does_not_race_with_the_one_before_it() {
    is_clean(&exchange(1, "bar.warp.sync -1;"), 9, 32);
    is_clean("@%first st.relaxed.cta.shared.u32 [%bx], %t;\nld.relaxed.cta.shared.u32 %r1, [%bx];", 9, 64);
}

#[test]
fn strong_accesses_of_the_same_bytes_do_not_race() {
    is_clean("st.relaxed.cta.shared.u32 [%bx], %t;\nld.acquire.cta.shared.u32 %r1, [%bx];", 1, 64);
    is_clean("st.volatile.shared.u32 [%bx], %t;\nld.volatile.shared.u32 %r1, [%bx];", 1, 64);
    races("@%first st.relaxed.cta.shared.u32 [%bx], %t;\nld.shared.u32 %r1, [%bx];", 1, 64);
    races("@%first st.shared.u32 [%bx], %t;\nld.relaxed.cta.shared.u32 %r1, [%bx];", 1, 64);
    // Of other sizes, they do.
    races("@%first st.relaxed.cta.shared.u64 [%bx], %base;\nld.relaxed.cta.shared.u32 %r1, [%bx];", 1, 64);
    // A strong write does not hide a weak one before it.
    let hidden =
        "@%first st.shared.u32 [%bx], %t;\n@%first st.relaxed.cta.shared.u32 [%bx], %t;\nsetp.eq.u32 %p1, %t, 50;\n";
    races(&format!("{hidden}@%p1 ld.relaxed.cta.shared.u32 %r1, [%bx];"), 1, 64);
}
