//! Where lanes meet when some of them leave on the way: an assert's `trap`, an early `exit` or `ret`.

use proptest::prelude::*;
use ptx_machine::{Fault, FaultKind};

use crate::harness::{HEADER, Kernel, body};

const SCHEDULES: [Option<u64>; 7] = [None, Some(1), Some(2), Some(3), Some(4), Some(5), Some(6)];

/// Lanes below 7 go to BOTH at once, the others pass `way` before: with `%p2` one that none of them leaves by.
const PART: &str = "setp.lt.u32 %p1, %t, 7; setp.gt.u32 %p2, %t, 99; mov.u32 %r1, 1; @%p1 bra BOTH;\n";

/// Ways past the join that no lane goes.
const NEVER: [&str; 9] = [
    "@!%p2 bra OK; trap;\nOK:",
    "@!%p2 bra OK; exit;\nOK:",
    "@!%p2 bra OK; ret;\nOK:",
    "@%p2 trap;",
    "@%p2 exit;",
    "@%p2 ret;",
    "@%p2 bra GONE;",
    "names: .branchtargets GONE, OK; selp.u32 %r9, 0, 1, %p2; brx.idx %r9, names;\nOK:",
    // A way out with a loop, in which lanes part and meet.
    "@!%p2 bra OK;\nMORE: sub.u32 %r9, %t, 1; setp.gt.u32 %p3, %r9, 4; @%p3 bra MORE; exit;\nOK:",
];

fn text(way: &str, rest: &str) -> String {
    body(&format!("{PART}{way} mov.u32 %r1, 2;\nBOTH: {rest} ret;\nGONE: trap;"))
}

/// The words that 32 lanes write to `p`, the same under every schedule; 77 where a lane wrote none.
#[track_caller]
fn words(text: &str) -> Vec<u32> {
    let mut results = SCHEDULES.iter().map(|&schedule| {
        let mut kernel = Kernel::new(text, 1, 32);
        kernel.config.schedule = schedule;
        let out = kernel.words("out", &[77; 32]);
        kernel.run(&[out]);
        kernel.read(out, 32)
    });
    let first = results.next().unwrap();
    results.for_each(|other| assert_eq!(other, first, "{text}"));
    first
}

#[track_caller]
fn faults(text: &str, kind: FaultKind, instruction: &str) -> Fault {
    let mut all = SCHEDULES.iter().map(|&schedule| {
        let mut kernel = Kernel::new(text, 1, 32);
        kernel.config.schedule = schedule;
        let out = kernel.unwritten("out", 32);
        let f = kernel.fault(&[out]);
        assert_eq!((f.kind, f.instruction.as_str()), (kind, instruction), "{schedule:?}: {f}");
        f
    });
    all.next_back().unwrap()
}

fn sides(low: u32, high: u32) -> Vec<u32> {
    (0..32).map(|t| if t < 7 { low } else { high }).collect()
}

#[test]
fn a_way_out_that_no_lane_goes_keeps_no_lanes_from_meeting() {
    for way in NEVER {
        assert_eq!(words(&text(way, "bar.sync 0; st.global.u32 [%at], %r1;")), sides(1, 2), "{way}");
        assert_eq!(words(&text(way, "bar.warp.sync -1; st.global.u32 [%at], %r1;")), sides(1, 2), "{way}");
        let shuffle = "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; st.global.u32 [%at], %r2;";
        assert_eq!(words(&text(way, shuffle)), sides(1, 1), "{way}");
        let agree = "vote.sync.any.pred %p4, %p1, -1; @%p4 bra.uni A; mov.u32 %r1, 9;\nA: st.global.u32 [%at], %r1;";
        assert_eq!(words(&text(way, agree)), sides(1, 2), "{way}");
    }
}

#[test]
fn lanes_that_meet_past_a_way_out_must_keep_what_uni_promises() {
    for way in NEVER {
        let apart = "@%p1 bra.uni A; mov.u32 %r1, 3;\nA: st.global.u32 [%at], %r1;";
        let f = faults(&text(way, apart), FaultKind::DivergentBranch, "@%p1 bra.uni A");
        assert!(f.message.contains("true in lanes 0x0000007f and false in lanes 0xffffff80"), "{way}: {f}");
        faults(&text(way, "@%p1 ret.uni;"), FaultKind::DivergentBranch, "@%p1 ret.uni");
    }
}

#[test]
fn a_trap_that_a_lane_comes_to_ends_the_launch() {
    for way in ["@%p3 trap;", "@!%p3 bra OK; trap;\nOK:"] {
        let text = text(&format!("setp.eq.u32 %p3, %t, 20; {way}"), "bar.sync 0; st.global.u32 [%at], %r1;");
        let f = faults(&text, FaultKind::Trap, if way.starts_with("@%p3") { "@%p3 trap" } else { "trap" });
        assert_eq!(f.lane, Some(20));
    }
}

#[test]
fn lanes_that_stay_meet_when_others_leave() {
    // Lane 20 leaves on its side.
    for leave in ["exit", "ret"] {
        for way in [format!("@%p3 {leave};"), format!("@!%p3 bra OK; {leave};\nOK:"), "@%p3 bra.uni OUT;".to_owned()] {
            let way = format!("setp.eq.u32 %p3, %t, 20; {}", way.replace(".uni", ""));
            let text = |rest: &str| body(&format!("{PART}{way} mov.u32 %r1, 2;\nBOTH: {rest} exit;\nOUT: {leave};"));
            let mut want = sides(1, 2);
            want[20] = 77;
            assert_eq!(words(&text("bar.sync 0; st.global.u32 [%at], %r1;")), want, "{way}");
            assert_eq!(words(&text("bar.warp.sync 0xffefffff; st.global.u32 [%at], %r1;")), want, "{way}");
            let f = faults(&text("bar.warp.sync -1;"), FaultKind::AbsentLane, "bar.warp.sync -1");
            assert!(f.message.contains("names lanes 0x00100000, which have exited"), "{f}");
        }
    }
}

#[test]
fn a_whole_side_that_leaves_holds_up_no_one() {
    for leave in ["exit;", "ret;", "atom.global.exch.b32 %r2, [%at], 2; exit;"] {
        let text = format!("{PART}{leave}\nBOTH: bar.sync 0; st.global.u32 [%at], 5;");
        assert_eq!(words(&body(&text)), sides(5, if leave.len() > 5 { 2 } else { 77 }));
    }
    // Both sides leave: nothing joins them.
    let text = body(&format!("{PART}st.global.u32 [%at], 3; exit;\nBOTH: st.global.u32 [%at], 4;"));
    assert_eq!(words(&text), sides(4, 3));
}

#[test]
fn nested_sides_with_ways_out_meet_one_after_the_other() {
    let text = "setp.lt.u32 %p1, %t, 16; and.b32 %r3, %t, 1; setp.eq.u32 %p2, %r3, 0; setp.eq.u32 %p3, %t, 3;
        setp.eq.u32 %p4, %t, 30; mov.u32 %r1, 0; @!%p1 bra HIGH;
        @%p2 bra EVEN; @%p3 bra GONE; add.u32 %r1, %r1, 1;
        EVEN: activemask.b32 %r4; bra BOTH;
        HIGH: @%p2 bra HIGHER; add.u32 %r1, %r1, 2; bra SAME;
        HIGHER: @%p4 exit; add.u32 %r1, %r1, 4;
        SAME: activemask.b32 %r4;
        BOTH: activemask.b32 %r5; setp.ne.u32 %p5, %r5, 0xbffffff7; @%p5 trap;
        popc.b32 %r4, %r4; mad.lo.u32 %r1, %r4, 100, %r1; st.global.u32 [%at], %r1; exit;
        GONE: st.global.u32 [%at], 9; ret;";
    let want = |t: u32| match t {
        3 => 9,
        30 => 77,
        0..16 => 1500 + t % 2,
        _ => 1504 - t % 2 * 2,
    };
    assert_eq!(words(&body(text)), (0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn an_exit_in_a_loop_leaves_the_others_meeting_behind_it() {
    // Lanes leave the loop after their own number of turns, those above 27 the kernel after 5.
    let text = "mov.u32 %r1, 0; setp.gt.u32 %p3, %t, 27;
        LOOP: setp.ge.u32 %p1, %r1, %t; @%p1 bra DONE;
        setp.eq.u32 %p2, %r1, 5; and.pred %p2, %p2, %p3; @%p2 bra GONE;
        add.u32 %r1, %r1, 1; bra LOOP;
        DONE: bar.warp.sync 0x0fffffff; bar.sync 0; st.global.u32 [%at], %r1; ret;
        GONE: st.global.u32 [%at], 50; exit;";
    let want: Vec<u32> = (0..32).map(|t| if t > 27 { 50 } else { t }).collect();
    assert_eq!(words(&body(text)), want);
    // With nothing behind the loop but the ways out in it.
    let text = "mov.u32 %r1, 0;
        LOOP: add.u32 %r1, %r1, 1; st.global.u32 [%at], %r1; setp.ge.u32 %p1, %r1, %t; @%p1 exit;
        setp.eq.u32 %p2, %r1, 9; @%p2 ret; bra LOOP;";
    assert_eq!(words(&body(text)), (0..32u32).map(|t| t.clamp(1, 9)).collect::<Vec<_>>());
}

#[test]
fn lanes_that_return_early_leave_the_others_meeting_in_the_function() {
    let function = ".func (.param .b32 r) f(.param .b32 n)\n{ .reg .b32 %n, %x; .reg .pred %low, %odd;\n\
        ld.param.b32 %n, [n]; setp.lt.u32 %low, %n, 7; setp.eq.u32 %odd, %n, 20; mov.u32 %x, 1; @%low bra BOTH;\n\
        @!%odd bra ON; st.param.b32 [r], 6; ret;\nON: mov.u32 %x, 2;\n\
        BOTH: bar.warp.sync 0xffefffff; st.param.b32 [r], %x; ret; }\n";
    // Behind the call, the lane that returned early is there again.
    let text = "call (%r1), f, (%t); bar.warp.sync -1; st.global.u32 [%at], %r1;";
    let mut want = sides(1, 2);
    want[20] = 6;
    assert_eq!(words(&body(text).replace(HEADER, &format!("{HEADER}{function}"))), want);
}

#[test]
fn a_way_out_that_waits_is_not_waited_for() {
    // The lanes that branch go first, though theirs is the way with most code, and have left when the others wait.
    let go = "mov.u32 %r1, 1; mov.u32 %r1, 2; mov.u32 %r1, 3; mov.u32 %r1, 4";
    for text in [
        format!("@%p1 bra GO; bar.sync 0; st.global.u32 [%at], 3; exit;\nGO: {go}; st.global.u32 [%at], %r1;"),
        format!(
            "@%p1 bra GO;\nLOOK: ld.volatile.global.u32 %r2, [%base]; setp.ne.u32 %p2, %r2, 4; @%p2 bra LOOK;
             st.global.u32 [%at], 3; exit;\nGO: {go}; st.volatile.global.u32 [%at], %r1; ret;"
        ),
        // Here they come to the barrier, and the others leave before.
        format!(
            "@!%p1 bra STAY; {go}; st.global.u32 [%at], %r1; ret;\nSTAY: mov.u32 %r1, 3; bar.sync 0;
             mov.u32 %r2, 1; mov.u32 %r2, 2; mov.u32 %r2, 3; st.global.u32 [%at], %r1;"
        ),
    ] {
        let mut kernel = Kernel::new(&body(&format!("setp.lt.u32 %p1, %t, 7; {text}")), 1, 32);
        let out = kernel.words("out", &[77; 32]);
        kernel.run(&[out]);
        assert_eq!(kernel.read(out, 32), sides(4, 3), "{text}");
    }
}

/// How a block of a random kernel ends.
#[derive(Debug, Clone)]
enum Way {
    On,
    To(usize),
    /// Lanes with this bit of their number go elsewhere, or leave.
    Some(u32, usize),
    SomeLeave(u32, &'static str),
    ByIndex(u32, usize, usize),
    Leave(&'static str),
    NeverTrap,
}

const TURNS: u32 = 40;
const BLOCKS: usize = 9;

fn way() -> impl Strategy<Value = Way> {
    let (bit, to, leave) = (0..7u32, 0..BLOCKS, prop::sample::select(vec!["exit", "ret"]));
    prop_oneof![
        1 => Just(Way::On),
        1 => to.clone().prop_map(Way::To),
        4 => (bit.clone(), to.clone()).prop_map(|(bit, to)| Way::Some(bit, to)),
        2 => (bit.clone(), leave.clone()).prop_map(|(bit, leave)| Way::SomeLeave(bit, leave)),
        1 => (bit, to.clone(), to).prop_map(|(bit, a, b)| Way::ByIndex(bit, a, b)),
        2 => leave.prop_map(Way::Leave),
        1 => Just(Way::NeverTrap),
    ]
}

/// The blocks as PTX; each changes the lane's number `%r1`, writes it, and gives up after many turns.
fn written(ways: &[Way]) -> String {
    let block = |(i, way): (usize, &Way)| {
        let test = |bit: u32| format!("shr.u32 %r3, %r1, {bit}; and.b32 %r3, %r3, 1; setp.eq.u32 %p2, %r3, 1;");
        let end = match way {
            Way::On => String::new(),
            Way::To(to) => format!("bra B{to};"),
            Way::Some(bit, to) => format!("{} @%p2 bra B{to};", test(*bit)),
            Way::SomeLeave(bit, leave) => format!("{} @%p2 {leave};", test(*bit)),
            Way::ByIndex(bit, a, b) => {
                format!("list{i}: .branchtargets B{a}, B{b}; {} brx.idx %r3, list{i};", test(*bit))
            }
            Way::Leave(leave) => format!("{leave};"),
            Way::NeverTrap => format!("setp.gt.u32 %p2, %r2, {}; @%p2 trap;", 2 * TURNS),
        };
        format!(
            "B{i}: mad.lo.u32 %r1, %r1, 7, {i}; st.global.u32 [%at], %r1; add.u32 %r2, %r2, 1;\n\
             setp.gt.u32 %p1, %r2, {TURNS}; @%p1 bra END; {end}\n"
        )
    };
    let blocks: String = ways.iter().enumerate().map(block).collect();
    format!("mov.u32 %r1, %t; mov.u32 %r2, 0;\n{blocks}END:")
}

/// What a lane has written when it leaves, and whether it came back from there.
fn walked(ways: &[Way], lane: u32) -> (u32, bool) {
    let (mut number, mut at) = (lane, 0);
    for _ in 0..=TURNS {
        let Some(way) = ways.get(at) else { return (number, true) };
        number = number.wrapping_mul(7).wrapping_add(at as u32);
        let is_one = |bit: u32| number >> bit & 1 == 1;
        at = match *way {
            Way::To(to) => to,
            Way::Some(bit, to) if is_one(bit) => to,
            Way::ByIndex(bit, a, b) => [a, b][usize::from(is_one(bit))],
            Way::Leave(leave) => return (number, leave == "ret"),
            Way::SomeLeave(bit, leave) if is_one(bit) => return (number, leave == "ret"),
            _ => at + 1,
        };
    }
    (number, true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn lanes_of_any_flow_graph_go_their_own_way(ways in prop::collection::vec(way(), BLOCKS)) {
        let blocks = written(&ways);
        let walked: Vec<(u32, bool)> = (0..32).map(|lane| walked(&ways, lane)).collect();
        prop_assert_eq!(words(&body(&blocks)), walked.iter().map(|w| w.0).collect::<Vec<_>>());
        // In a function, lanes come back from `ret`.
        let function = format!(
            ".func walk(.param .b64 p, .param .b32 n)\n{{ .reg .b32 %t, %r<9>; .reg .b64 %at; .reg .pred %p<9>;\n\
             ld.param.b64 %at, [p]; ld.param.b32 %t, [n];\n{blocks} ret; }}\n"
        );
        let text = body("call walk, (%at, %t); ld.global.u32 %r1, [%at]; add.u32 %r1, %r1, 1; st.global.u32 [%at], %r1;");
        let want: Vec<u32> = walked.iter().map(|&(number, back)| number.wrapping_add(back.into())).collect();
        prop_assert_eq!(words(&text.replace(HEADER, &format!("{HEADER}{function}"))), want);
    }
}
