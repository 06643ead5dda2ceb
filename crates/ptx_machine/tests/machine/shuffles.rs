//! Shuffles and votes, with a number of its own in every lane.

use crate::harness::{Kernel, body};

/// Words `2 t` and `2 t + 1` of thread `t`.
fn pairs(text: &str, input: &[u32]) -> Vec<(u32, u32)> {
    let text = text.replace("RESULT", "st.global.v2.u32 [%rd2], {%r8, %r9}");
    let text = body(&format!(
        "ld.global.u32 %r1, [%at+256];
         mul.wide.u32 %rd1, %t, 8;
         add.u64 %rd2, %base, %rd1;
         {text}"
    ));
    let mut kernel = Kernel::new(&text, 1, 32);
    let words: Vec<u32> = std::iter::repeat_n(0, 64).chain(input.iter().copied()).collect();
    let data = kernel.words("data", &words);
    kernel.run(&[data]);
    kernel.read(data, 64).chunks(2).map(|w| (w[0], w[1])).collect()
}

/// The ISA's page on `shfl`: the lane that `lane` reads, and the predicate.
fn expected(mode: &str, lane: i64, b: u32, c: u32) -> (i64, bool) {
    let (b, clamp, segment) = (i64::from(b & 31), i64::from(c & 31), i64::from(c >> 8 & 31));
    let max_lane = (lane & segment) | (clamp & !segment & 31);
    let min_lane = lane & segment;
    let (j, p) = match mode {
        "up" => (lane - b, lane - b >= max_lane),
        "down" => (lane + b, lane + b <= max_lane),
        "bfly" => (lane ^ b, lane ^ b <= max_lane),
        _ => {
            let j = min_lane | (b & !segment & 31);
            (j, j <= max_lane)
        }
    };
    (if p { j } else { lane }, p)
}

#[test]
fn every_mode_amount_and_segment() {
    let input: Vec<u32> = (0..32).map(|lane| 1000 + 7 * lane).collect();
    for mode in ["up", "down", "bfly", "idx"] {
        for width in [32u32, 16, 8, 2] {
            // CUDA's encoding: segments of `width` lanes; `up` clamps at the low end.
            let c = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
            for b in [0, 1, 2, 5, 8, 16, 31, 33] {
                let text = format!(
                    "shfl.sync.{mode}.b32 %r8|%p1, %r1, {b}, {c}, -1;
                     selp.u32 %r9, 1, 0, %p1;
                     RESULT;"
                );
                let want = (0..32).map(|lane| {
                    let (from, inside) = expected(mode, lane, b, c);
                    (input[from as usize], u32::from(inside))
                });
                assert_eq!(pairs(&text, &input), want.collect::<Vec<_>>(), "{mode} {b} width {width}");
            }
        }
    }
}

#[test]
fn the_lane_operand_may_differ_by_lane() {
    let input: Vec<u32> = (0..32).collect();
    let text = "xor.b32 %r2, %t, 21;
                shfl.sync.idx.b32 %r8, %r1, %r2, 31, 0xffffffff;
                mov.u32 %r9, 0;
                RESULT;";
    assert_eq!(pairs(text, &input), (0..32).map(|l| (l ^ 0x15, 0)).collect::<Vec<_>>());
}

#[test]
fn halves_of_a_warp_shuffle_by_themselves() {
    let input: Vec<u32> = (0..32).collect();
    let text = "setp.lt.u32 %p1, %t, 16;
                mov.u32 %r9, 9;
                @%p1 bra LOW;
                shfl.sync.bfly.b32 %r8, %r1, 3, 31, 0xffff0000;
                bra MEET;
                LOW: shfl.sync.bfly.b32 %r8, %r1, 5, 31, 0xffff;
                MEET: bar.warp.sync 0xffffffff;
                RESULT;";
    let want = (0..32).map(|l| (if l < 16 { l ^ 5 } else { l ^ 3 }, 9)).collect::<Vec<_>>();
    assert_eq!(pairs(text, &input), want);
    // The same with one instruction and a mask by lane.
    let text = "setp.lt.u32 %p1, %t, 16;
                selp.b32 %r2, 0xffff, 0xffff0000, %p1;
                mov.u32 %r9, 9;
                shfl.sync.bfly.b32 %r8, %r1, 1, 31, %r2;
                RESULT;";
    assert_eq!(pairs(text, &input), (0..32).map(|l| (l ^ 1, 9)).collect::<Vec<_>>());
}

#[test]
fn votes() {
    let input: Vec<u32> = (0..32).map(|l| u32::from(l % 3 == 0)).collect();
    let ballot = input.iter().enumerate().fold(0, |m, (l, &x)| m | x << l);
    let text = "setp.ne.u32 %p1, %r1, 0;
                vote.sync.ballot.b32 %r8, %p1, -1;
                vote.sync.ballot.b32 %r9, !%p1, -1;
                RESULT;";
    assert_eq!(pairs(text, &input), vec![(ballot, !ballot); 32]);
    let verdicts = |input: &[u32]| {
        let text = "setp.ne.u32 %p1, %r1, 0;
                    vote.sync.all.pred %p2, %p1, -1;
                    vote.sync.any.pred %p3, %p1, -1;
                    vote.sync.uni.pred %p4, %p1, -1;
                    selp.u32 %r8, 1, 0, %p2;
                    selp.u32 %r9, 2, 0, %p3;
                    add.u32 %r8, %r8, %r9;
                    selp.u32 %r9, 1, 0, %p4;
                    RESULT;";
        pairs(text, input)[13]
    };
    assert_eq!(verdicts(&input), (2, 0));
    assert_eq!(verdicts(&[0; 32]), (0, 1));
    assert_eq!(verdicts(&[1; 32]), (3, 1));
}
