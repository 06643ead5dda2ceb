//! Asynchronous copies: between start and wait, no one else may touch what they read and write.

use super::{is_clean, races};

const COPY: &str = "mul.lo.u32 %r1, %t, 16;
    mad.lo.u32 %r2, %t, 16, %bx;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd1, %rd1, %base;
    cp.async.cg.shared.global [%r2], [%rd1], 16;
    cp.async.commit_group;\n";

#[test]
fn a_copy_is_read_after_the_wait() {
    let f = races(&format!("{COPY}ld.shared.u32 %r3, [%r2];"), 1, 32);
    assert_eq!(
        f.message,
        "nothing orders this load of `box`+0 and the asynchronous copy of line 23 (not waited for) by the same lane"
    );
    races(&format!("{COPY}cp.async.wait_group 1;\nld.shared.u32 %r3, [%r2];"), 1, 32);
    is_clean(&format!("{COPY}cp.async.wait_group 0;\nld.shared.u32 %r3, [%r2];"), 1, 32);
    is_clean(&format!("{COPY}cp.async.wait_all;\nld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%r2];"), 1, 32);
}

#[test]
fn other_threads_need_a_barrier_behind_the_wait() {
    let read = |between: &str, other: u32| {
        format!("{COPY}{between}\nxor.b32 %r1, %t, {other};\nmad.lo.u32 %r2, %r1, 16, %bx;\nld.shared.u32 %r3, [%r2];")
    };
    races(&read("cp.async.wait_all;", 1), 1, 32);
    is_clean(&read("cp.async.wait_all;\nbar.warp.sync -1;", 1), 1, 32);
    races(&read("cp.async.wait_all;\nbar.warp.sync -1;", 32), 1, 64);
    is_clean(&read("cp.async.wait_all;\nbar.sync 0;", 32), 1, 64);
    // A barrier does not wait for copies.
    races(&read("bar.sync 0;", 32), 1, 64);
    races(&read("bar.sync 0;\ncp.async.wait_all;", 32), 1, 64);
}

#[test]
fn nothing_else_is_written_to_where_a_copy_lands() {
    races(&format!("{COPY}st.shared.u32 [%r2+12], %t;"), 1, 32);
    is_clean(&format!("{COPY}cp.async.wait_all;\nst.shared.u32 [%r2+12], %t;"), 1, 32);
    races(&format!("{COPY}cp.async.cg.shared.global [%r2], [%rd1], 16;"), 1, 32);
    is_clean(&format!("{COPY}cp.async.wait_all;\ncp.async.cg.shared.global [%r2], [%rd1], 16;"), 1, 32);
    // What was read before is not overwritten before its readers are done.
    let again = |between: &str| {
        format!("xor.b32 %r9, %t, 1;\nmad.lo.u32 %r9, %r9, 16, %bx;\nld.shared.u32 %r3, [%r9];\n{between}\n{COPY}")
    };
    races(&again(""), 1, 32);
    is_clean(&again("bar.warp.sync -1;"), 1, 32);
}

#[test]
fn what_a_copy_reads_is_not_written() {
    races(&format!("{COPY}st.global.u32 [%rd1], %t;"), 1, 32);
    is_clean(&format!("{COPY}cp.async.wait_all;\nst.global.u32 [%rd1], %t;"), 1, 32);
    is_clean(&format!("{COPY}ld.global.u32 %r3, [%rd1];"), 1, 32);
    // Bytes past those that are read do not matter.
    let part = COPY.replace("[%rd1], 16;", "[%rd1], 16, 8;");
    is_clean(&format!("{part}st.global.u32 [%rd1+8], %t;"), 1, 32);
    races(&format!("{part}st.global.u32 [%rd1+4], %t;"), 1, 32);
}

#[test]
fn copies_that_no_one_waits_for_end_with_the_block() {
    is_clean(COPY, 5, 32);
    is_clean(&format!("{COPY}cp.async.wait_all;\nld.shared.u32 %r3, [%r2];"), 5, 32);
}
