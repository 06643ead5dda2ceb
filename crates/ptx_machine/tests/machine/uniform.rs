//! What `.uni` promises of the lanes that execute a branch, a call or a return together.

use ptx_machine::{Fault, FaultKind};

use crate::harness::{HEADER, Kernel, body};

/// A function that gives 5 back, and one that returns early to those who ask it to.
const FUNCTIONS: &str = ".func (.param .b32 r) five\n{ st.param.b32 [r], 5; ret.uni; }\n\
    .func (.param .b32 r) early(.param .b32 n)\n{ .reg .b32 %n; .reg .pred %now; ld.param.b32 %n, [n];\n\
    st.param.b32 [r], 5; setp.lt.u32 %now, %n, 7; @%now ret.uni; st.param.b32 [r], 6; ret.uni; }\n";

/// A kernel of one block that may write a word a thread to `p`.
fn kernel(text: &str, threads: u32) -> (Kernel, u64) {
    let text = body(text).replace(HEADER, &format!("{HEADER}{FUNCTIONS}"));
    let mut kernel = Kernel::new(&text, 1, threads);
    let out = kernel.unwritten("out", threads as usize);
    (kernel, out)
}

fn words(text: &str, threads: u32) -> Vec<u32> {
    let (mut kernel, out) = kernel(text, threads);
    kernel.run(&[out]);
    kernel.read(out, threads as usize)
}

fn fault(text: &str, threads: u32) -> Fault {
    let (mut kernel, out) = kernel(text, threads);
    kernel.fault(&[out])
}

#[track_caller]
fn expect(text: &str, instruction: &str, lane: u32, message: &str) {
    let f = fault(text, 32);
    assert_eq!((f.kind, f.lane), (FaultKind::DivergentBranch, Some(lane)), "{f}");
    assert_eq!(f.instruction, instruction, "{f}");
    assert!(f.message.contains(message), "{f}");
    assert!(!f.to_string().contains('\n'));
}

#[test]
fn a_guard_in_which_lanes_differ_is_named() {
    let low = "setp.lt.u32 %p1, %t, 7;";
    let masks = "must agree; the guard is true in lanes 0x0000007f and false in lanes 0xffffff80";
    expect(&format!("{low} @%p1 bra.uni A;\nA:"), "@%p1 bra.uni A", 0, masks);
    expect(&format!("{low} @%p1 ret.uni;"), "@%p1 ret.uni", 0, masks);
    expect(&format!("{low} @%p1 call.uni (%r1), five;"), "@%p1 call.uni (%r1), five", 0, masks);
    expect("call.uni (%r1), early, (%t);", "@%now ret.uni", 0, masks);
    let list = "list: .branchtargets A, B;";
    expect(&format!("{low} {list} @%p1 brx.idx.uni 1, list;\nA:\nB:"), "@%p1 brx.idx.uni 1, list", 0, masks);
    // Which lanes take it is what counts, not what their predicate says.
    let other = "the guard is true in lanes 0xffffff80 and false in lanes 0x0000007f";
    expect(&format!("{low} @!%p1 bra.uni A;\nA:"), "@!%p1 bra.uni A", 7, other);
}

#[test]
fn an_index_in_which_lanes_differ_is_named() {
    let text =
        "setp.eq.u32 %p1, %t, 9; selp.u32 %r1, 1, 0, %p1;\nlist: .branchtargets A, A;\nbrx.idx.uni %r1, list;\nA:";
    // PTX asks for one index, though both lead to one place.
    expect(text, "brx.idx.uni %r1, list", 0, "the index is 0 here and 1 in lane 9");
    // The guard keeps the lane out whose index differs, but not all lanes.
    let guarded = text.replace("brx", "@!%p1 brx");
    expect(&guarded, "@!%p1 brx.idx.uni %r1, list", 0, "false in lanes 0x00000200");
}

#[test]
fn lanes_that_agree_go_on() {
    // A loop of as many turns as the warp's number, a call, and a return.
    let text = "shr.u32 %r1, %t, 5; mov.u32 %r2, 0;
        LOOP: setp.ge.u32 %p1, %r2, %r1; @%p1 bra.uni DONE; add.u32 %r2, %r2, 1; bra.uni LOOP;
        DONE: setp.eq.u32 %p2, %r1, 1; mov.u32 %r3, 0; @%p2 call.uni (%r3), five; add.u32 %r2, %r2, %r3;
        list: .branchtargets A, B; @!%p2 brx.idx.uni 1, list;
        A: add.u32 %r2, %r2, 100;
        B: st.global.u32 [%at], %r2; @%p2 ret.uni; st.global.u32 [%at], 50;";
    let want = |t: u32| if t / 32 == 1 { 106 } else { 50 };
    assert_eq!(words(text, 80), (0..80).map(want).collect::<Vec<_>>());
}

#[test]
fn groups_that_an_earlier_branch_parted_are_asked_apart() {
    let text = "call (%r1), apart, (%t); st.global.u32 [%at], %r1;";
    // Each side comes to a branch and to a return before both meet behind the call.
    let apart = ".func (.param .b32 r) apart(.param .b32 n)\n{ .reg .b32 %n; .reg .pred %low; ld.param.b32 %n, [n];\n\
        setp.lt.u32 %low, %n, 7; st.param.b32 [r], 1; @%low bra LOW; @%low bra.uni LOW;\n\
        st.param.b32 [r], 3; @!%low ret.uni; LOW: @%low ret.uni; st.param.b32 [r], 4; }\n";
    let text = body(text).replace(HEADER, &format!("{HEADER}{apart}"));
    let want: Vec<u32> = (0..32).map(|t| if t < 7 { 1 } else { 3 }).collect();
    for schedule in [None, Some(1), Some(2), Some(3), Some(4)] {
        let mut kernel = Kernel::new(&text, 1, 32);
        kernel.config.schedule = schedule;
        let out = kernel.unwritten("out", 32);
        kernel.run(&[out]);
        assert_eq!(kernel.read(out, 32), want, "{schedule:?}");
    }
}

#[test]
fn lanes_that_left_are_not_asked() {
    let text = "st.global.u32 [%at], %t; setp.lt.u32 %p1, %t, 7; @%p1 exit; @!%p1 bra.uni A; trap;\nA:";
    assert_eq!(words(text, 32), (0..32).collect::<Vec<_>>());
    // A block that ends within a warp has no other lanes.
    assert_eq!(words("st.global.u32 [%at], %t; setp.lt.u32 %p1, %t, 7; @%p1 bra.uni A; trap;\nA:", 7).len(), 7);
}

#[test]
fn without_uni_lanes_may_differ() {
    let text = "setp.lt.u32 %p1, %t, 7; mov.u32 %r1, 0; @%p1 call (%r1), five;\n@%p1 bra A; add.u32 %r1, %r1, 1;
        A: st.global.u32 [%at], %r1; @%p1 ret; st.global.u32 [%at], 9;";
    assert_eq!(words(text, 32), (0..32).map(|t| if t < 7 { 5 } else { 9 }).collect::<Vec<_>>());
}

#[test]
fn lanes_that_have_met_again_are_asked_together() {
    let text = "setp.lt.u32 %p1, %t, 7; mov.u32 %r1, 1; @%p1 bra BOTH; mov.u32 %r1, 2;\nBOTH: @%p1 bra.uni A;\nA:";
    for schedule in [None, Some(1), Some(2), Some(3), Some(4)] {
        let (mut kernel, out) = kernel(text, 32);
        kernel.config.schedule = schedule;
        let f = kernel.fault(&[out]);
        assert_eq!((f.kind, f.instruction.as_str()), (FaultKind::DivergentBranch, "@%p1 bra.uni A"), "{schedule:?}");
    }
}
