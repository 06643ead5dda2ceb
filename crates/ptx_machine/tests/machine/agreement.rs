//! `match`, `redux`, `elect`, and barriers that count.

use ptx_machine::FaultKind;

use crate::harness::{Kernel, body};

/// What each of 32 threads stores, given its word.
fn run(text: &str, words: &[u32]) -> Vec<u32> {
    let text = format!("ld.global.u32 %r20, [%at];\n{text}\nst.global.u32 [%at], %r1;");
    let mut kernel = Kernel::new(&body(&text), 1, words.len() as u32);
    let at = kernel.words("words", words);
    kernel.run(&[at]);
    kernel.read(at, words.len())
}

fn words() -> Vec<u32> {
    (0..32u32).map(|t| t.wrapping_mul(0x9e37_79b9) >> 29 | (t % 3) << 30).collect()
}

#[test]
fn match_any_names_the_lanes_with_the_same_value() {
    let all = words();
    let peers = |same: &dyn Fn(usize) -> bool| (0..32).filter(|&o| same(o)).fold(0, |m, o| m | 1u32 << o);
    let want: Vec<u32> = (0..32).map(|t| peers(&|o| all[o] == all[t])).collect();
    assert_eq!(run("match.any.sync.b32 %r1, %r20, 0xffffffff;", &all), want);
    // Two halves of a warp, each by itself; 64 bits that differ in the upper half only.
    let halves = "and.b32 %r2, %t, 16; setp.eq.u32 %p1, %r2, 0; selp.b32 %r3, 0x0000ffff, 0xffff0000, %p1;\n\
        mov.b64 %rd1, {%r20, %r2};\n@%p1 match.any.sync.b64 %r1, %rd1, %r3;\n@!%p1 match.any.sync.b64 %r1, %rd1, %r3;";
    let want: Vec<u32> = (0..32).map(|t| peers(&|o| all[o] == all[t] && o / 16 == t / 16)).collect();
    assert_eq!(run(halves, &all), want);
}

#[test]
fn match_all_gives_all_or_none() {
    let text = "match.all.sync.b32 %r1|%p1, %r20, 0xffffffff; selp.u32 %r2, 7, 0, %p1; xor.b32 %r1, %r1, %r2;";
    assert_eq!(run(text, &[5; 32]), vec![0xffff_ffff ^ 7; 32]);
    assert_eq!(run(text, &words()), vec![0; 32]);
}

#[test]
fn redux_joins_what_the_members_hold() {
    let all = words();
    let fold = |f: fn(u32, u32) -> u32| all.iter().copied().reduce(f).unwrap();
    let cases: [(&str, u32); 9] = [
        ("add.u32", fold(u32::wrapping_add)),
        ("add.s32", fold(u32::wrapping_add)),
        ("min.u32", fold(u32::min)),
        ("max.u32", fold(u32::max)),
        ("min.s32", fold(|a, b| (a as i32).min(b as i32) as u32)),
        ("max.s32", fold(|a, b| (a as i32).max(b as i32) as u32)),
        ("and.b32", fold(|a, b| a & b)),
        ("or.b32", fold(|a, b| a | b)),
        ("xor.b32", fold(|a, b| a ^ b)),
    ];
    for (op, want) in cases {
        assert_eq!(run(&format!("redux.sync.{op} %r1, %r20, 0xffffffff;"), &all), vec![want; 32], "{op}");
    }
}

#[test]
fn one_lane_is_elected() {
    let text = "setp.ge.u32 %p1, %t, 5; mov.u32 %r1, 99; @%p1 elect.sync %r1|%p2, 0xffffffe0;\n\
        @%p1 selp.u32 %r2, 100, 0, %p2; @%p1 add.u32 %r1, %r1, %r2;";
    let want: Vec<u32> = (0..32).map(|t| if t < 5 { 99 } else { 5 + u32::from(t == 5) * 100 }).collect();
    assert_eq!(run(text, &[0; 32]), want);
}

#[test]
fn members_must_be_there() {
    for text in ["match.any.sync.b32 %r1, %t, 1;", "redux.sync.add.u32 %r1, %t, 1;", "elect.sync _|%p1, 1;"] {
        assert_eq!(Kernel::new(&body(text), 1, 32).fault(&[0]).kind, FaultKind::AbsentLane, "{text}");
    }
}

#[test]
fn barriers_count_the_threads_of_all_warps() {
    let words: Vec<u32> = (0..80).map(|t| u32::from(t % 7 == 0)).collect();
    let count = words.iter().sum::<u32>();
    for (form, on_ones) in [
        ("bar.red.popc.u32 %r1, 0, %p1;", count),
        ("barrier.cta.red.popc.aligned.u32 %r1, 3, %p1;", count),
        ("bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", 0),
        ("bar.red.or.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", 1),
        ("bar.red.and.pred %p2, 0, !%p3; selp.u32 %r1, 1, 0, %p2;", 1),
    ] {
        let form = form.replace("red.popc.aligned", "red.aligned.popc");
        let text = format!("setp.ne.u32 %p1, %r20, 0; setp.gt.u32 %p3, %r20, 1; {form}");
        assert_eq!(run(&text, &words), vec![on_ones; 80], "{form}");
    }
}

#[test]
fn a_barrier_counts_only_the_threads_that_it_is_for() {
    // Two of three warps vote; the third goes on.
    let text = "setp.lt.u32 %p2, %t, 64; mov.u32 %r1, 55; @!%p2 bra DONE; setp.gt.u32 %p1, %r20, 0;\n\
        bar.red.popc.u32 %r1, 2, 64, %p1;\nDONE:";
    let words: Vec<u32> = (0..96).map(|t| t % 2).collect();
    assert_eq!(run(text, &words), [vec![32; 64], vec![55; 32]].concat());
}

#[test]
fn votes_and_plain_arrivals_do_not_mix() {
    let text = "setp.lt.u32 %p1, %t, 32; @%p1 bra VOTE; bar.sync 0; ret; VOTE: bar.red.popc.u32 %r1, 0, %p1;";
    assert_eq!(Kernel::new(&body(text), 1, 64).fault(&[0]).kind, FaultKind::BadBarrier);
    assert_eq!(
        Kernel::new(&body("bar.red.popc.u32 %r1, 0, %p9;"), 1, 64).fault(&[0]).kind,
        FaultKind::UninitialisedOperand
    );
}
