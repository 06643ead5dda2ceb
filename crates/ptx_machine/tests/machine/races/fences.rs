//! Release and acquire, fences and their scopes: how threads of other warps and blocks come to be ordered.

use super::{is_clean, races};

/// Block 0 writes word 1 and sends; block 1 waits for word 0 to change and reads word 1. One lane each.
fn across_blocks(send: &str, wait: &str, after: &str) -> String {
    format!(
        "@!%first exit;
         mov.u32 %r1, 99;
         setp.ne.u32 %p1, %c, 0;
         @%p1 bra WAIT;
         st.global.u32 [%base+4], %r1;
         {send}
         exit;
         WAIT: {wait} %r2, [%base];
         setp.ne.u32 %p2, %r2, %r1;
         @%p2 bra WAIT;
         {after}
         ld.global.u32 %r3, [%base+4];"
    )
}

#[test]
fn a_flag_orders_blocks_where_it_is_released_and_acquired() {
    let good = [
        "st.release.gpu.global.u32 [%base], %r1;",
        "st.release.sys.global.u32 [%base], %r1;",
        "st.release.gpu.u32 [%base], %r1;",
        "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%base], %r1;",
        "fence.acq_rel.sys;\nfence.acq_rel.cta;\nst.relaxed.sys.global.u32 [%base], %r1;",
        "fence.sc.gpu;\nst.volatile.global.u32 [%base], %r1;",
        "membar.gl;\nst.volatile.global.u32 [%base], %r1;",
        "membar.sys;\nst.relaxed.gpu.global.u32 [%base], %r1;",
        // A later strong write of the same thread to the same word carries on what the first one released.
        "st.release.gpu.global.u32 [%base], %c;\nst.relaxed.gpu.global.u32 [%base], %r1;",
    ];
    for send in good {
        is_clean(&across_blocks(send, "ld.acquire.gpu.global.u32", ""), 2, 32);
    }
    let send = good[0];
    for (wait, after) in [
        ("ld.acquire.sys.global.u32", ""),
        ("ld.acquire.gpu.u32", ""),
        ("ld.relaxed.gpu.global.u32", "fence.acq_rel.gpu;"),
        ("ld.volatile.global.u32", "fence.sc.gpu;"),
        ("ld.volatile.global.u32", "membar.gl;"),
        ("ld.relaxed.sys.global.u32", "fence.acq_rel.cta;\nfence.acq_rel.sys;"),
    ] {
        is_clean(&across_blocks(send, wait, after), 2, 32);
    }
}

#[test]
fn a_flag_that_is_not_released_orders_nothing() {
    for send in [
        // Strong, but no release.
        "st.relaxed.gpu.global.u32 [%base], %r1;",
        "st.volatile.global.u32 [%base], %r1;",
        // A fence for the block alone.
        "fence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [%base], %r1;",
        "membar.cta;\nst.volatile.global.u32 [%base], %r1;",
        // A fence on the wrong side.
        "st.relaxed.gpu.global.u32 [%base], %r1;\nfence.acq_rel.gpu;",
        // The flag itself races: weak, or for the block alone.
        "membar.gl;\nst.global.u32 [%base], %r1;",
        "st.release.cta.global.u32 [%base], %r1;",
        "fence.acq_rel.gpu;\nst.relaxed.cta.global.u32 [%base], %r1;",
        // Of another size.
        "mov.u16 %h1, 1;\nst.release.gpu.global.u16 [%base], %h1;\nst.relaxed.gpu.global.u32 [%base], %r1;",
    ] {
        races(&across_blocks(send, "ld.acquire.gpu.global.u32", ""), 2, 32);
    }
}

#[test]
fn a_flag_that_is_not_acquired_orders_nothing() {
    let send = "st.release.gpu.global.u32 [%base], %r1;";
    for (wait, after) in [
        ("ld.relaxed.gpu.global.u32", ""),
        ("ld.volatile.global.u32", "membar.cta;"),
        ("ld.relaxed.gpu.global.u32", "fence.acq_rel.cta;"),
        ("ld.acquire.cta.global.u32", ""),
        ("ld.relaxed.cta.global.u32", "fence.acq_rel.gpu;"),
        ("ld.global.u32", "membar.gl;"),
        ("ld.relaxed.gpu.global.u32", "bar.sync 0;"),
    ] {
        races(&across_blocks(send, wait, after), 2, 32);
    }
}

#[test]
fn within_a_block_any_scope_will_do() {
    let text = |send: &str, wait: &str, after: &str| {
        across_blocks(send, wait, after)
            .replace("@!%first exit;", "setp.ne.u32 %p3, %l, 0;\n@%p3 exit;")
            .replace("%c, 0", "%w, 0")
            .replace(".global", ".shared")
            .replace("%base", "%bx")
    };
    // The box is not written yet when the flag is first read.
    let start = |text: String| format!("@%first st.relaxed.cta.shared.u32 [%bx], %c;\nbar.sync 0;\n{text}");
    is_clean(&start(text("st.release.cta.shared.u32 [%bx], %r1;", "ld.acquire.cta.shared.u32", "")), 1, 64);
    is_clean(
        &start(text("membar.cta;\nst.volatile.shared.u32 [%bx], %r1;", "ld.volatile.shared.u32", "membar.cta;")),
        1,
        64,
    );
    races(&start(text("st.relaxed.cta.shared.u32 [%bx], %r1;", "ld.acquire.cta.shared.u32", "")), 1, 64);
    races(&start(text("st.release.cta.shared.u32 [%bx], %r1;", "ld.relaxed.cta.shared.u32", "")), 1, 64);
}

/// All threads of block 0 write a word each and one of them sends; all of block 1 read one of those.
fn by_barrier(send: &str, receive: &str) -> String {
    format!(
        "mov.u32 %r1, 99;
         setp.ne.u32 %p1, %c, 0;
         @%p1 bra WAIT;
         st.global.u32 [%at+4], %r1;
         {send}
         exit;
         WAIT: @!%first bra READY;
         POLL: ld.relaxed.gpu.global.u32 %r2, [%base];
         setp.ne.u32 %p2, %r2, %r1;
         @%p2 bra POLL;
         READY: {receive}
         ld.global.u32 %r3, [%at+4];"
    )
}

#[test]
fn barriers_pass_on_what_one_thread_releases_for_all() {
    let (acquire, flag) =
        ("@%first fence.acq_rel.gpu;\nbar.sync 0;", "@%first st.relaxed.gpu.global.u32 [%base], %r1;");
    is_clean(&by_barrier("bar.sync 0;\n@%first st.release.gpu.global.u32 [%base], %r1;", acquire), 2, 64);
    is_clean(&by_barrier(&format!("bar.sync 0;\n@%first fence.acq_rel.gpu;\n{flag}"), acquire), 2, 64);
    // The fence before the barrier is of no write of this thread's after it but the flag.
    races(&by_barrier(&format!("@%first fence.acq_rel.gpu;\nbar.sync 0;\n{flag}"), acquire), 2, 64);
    races(&by_barrier(&format!("fence.acq_rel.gpu;\nbar.sync 0;\n{flag}"), acquire), 2, 64);
    // Without the barrier, the other threads' words are not released, or not acquired.
    races(&by_barrier("@%first st.release.gpu.global.u32 [%base], %r1;", acquire), 2, 64);
    races(
        &by_barrier("bar.sync 0;\n@%first st.release.gpu.global.u32 [%base], %r1;", "@%first fence.acq_rel.gpu;"),
        2,
        64,
    );
}

#[test]
fn sequentially_consistent_fences_order_each_other_where_one_is_seen_to_be_first() {
    // `__threadfence(); __syncthreads();` and a relaxed flag, with the same on the other side.
    let send = |fence: &str| format!("{fence}\nbar.sync 0;\n@%first st.relaxed.gpu.global.u32 [%base], %r1;");
    is_clean(&by_barrier(&send("membar.gl;"), "bar.sync 0;\nmembar.gl;"), 2, 64);
    is_clean(&by_barrier(&send("fence.sc.gpu;"), "bar.sync 0;\nfence.sc.sys;"), 2, 64);
    races(&by_barrier(&send("membar.gl;"), "bar.sync 0;\nfence.acq_rel.gpu;"), 2, 64);
    races(&by_barrier(&send("membar.cta;"), "bar.sync 0;\nmembar.gl;"), 2, 64);
    races(&by_barrier(&send("membar.gl;"), "bar.sync 0;"), 2, 64);
    // That one fence happens to be executed first orders nothing.
    races("st.global.u32 [%at], %t;\nmembar.gl;\nld.global.u32 %r1, [%base];", 2, 32);
}

#[test]
fn order_is_passed_on_through_a_third_block() {
    let text = |second: &str| {
        format!(
            "@!%first exit;
             mov.u32 %r1, 99;
             setp.eq.u32 %p1, %c, 1;
             setp.eq.u32 %p2, %c, 2;
             @%p1 bra PASS;
             @%p2 bra LAST;
             st.global.u32 [%base+8], %r1;
             st.release.gpu.global.u32 [%base], %r1;
             exit;
             PASS: ld.acquire.gpu.global.u32 %r2, [%base];
             setp.ne.u32 %p3, %r2, %r1;
             @%p3 bra PASS;
             {second}
             exit;
             LAST: ld.acquire.gpu.global.u32 %r2, [%base+4];
             setp.ne.u32 %p3, %r2, %r1;
             @%p3 bra LAST;
             ld.global.u32 %r3, [%base+8];"
        )
    };
    is_clean(&text("st.release.gpu.global.u32 [%base+4], %r1;"), 3, 32);
    races(&text("st.relaxed.gpu.global.u32 [%base+4], %r1;"), 3, 32);
}

#[test]
fn a_block_may_wait_for_one_that_has_not_begun() {
    // Block 0 waits for the last one.
    let text = across_blocks("st.release.gpu.global.u32 [%base], %r1;", "ld.acquire.gpu.global.u32", "")
        .replace("%c, 0", "%c, 1");
    is_clean(&text, 2, 32);
}
