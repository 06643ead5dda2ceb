//! Whole numbers: division, 128 bits, bits, and an interpreter with a jump table.

use crate::harness::{Corpus, Number, Random, int, source};

/// Quotients and remainders by a variable and by constants.
fn divide<T: Number + PartialEq + std::fmt::Debug>(entry: &str, a: &[T], b: &[T], results: impl Fn(T, T) -> [T; 4]) {
    let want: Vec<T> = a.iter().zip(b).flat_map(|(&x, &y)| results(x, y)).collect();
    let mut corpus = Corpus::strict(source!("division"));
    let (p, q, out) = (corpus.buffer(a), corpus.buffer(b), corpus.room::<T>(want.len()));
    corpus.run(entry, [3, 1, 1], [64, 1, 1], &[int(p), int(q), int(out), int(a.len() as i32)]);
    assert_eq!(corpus.read::<T>(out, want.len()), want, "{entry}");
}

macro_rules! divisions {
    ($($entry:literal $ty:ty, $wide:ty;)+) => { $({
        let mut random = Random::new(21);
        let edges = [0, 1, 2, 7, 9, 10, 99, <$ty>::MAX, <$ty>::MAX - 1, <$ty>::MIN, <$ty>::MIN + 1, !0];
        let mut number = |_: usize| match random.word() % 3 {
            0 => edges[random.word() as usize % edges.len()],
            1 => random.long() as $ty,
            _ => (random.word() % 200) as $ty,
        };
        let a: Vec<$ty> = (0..180).map(&mut number).collect();
        // Neither division by zero nor the lowest number by -1: C++ leaves both open.
        let safe = |x: $ty, y: $ty| y != 0 && !(x == <$ty>::MIN && y == !0);
        let b: Vec<$ty> = a.iter().map(|&x| { let y = number(0); if safe(x, y) { y } else { 3 } }).collect();
        divide($entry, &a, &b, |x, y| [x / y, x % y, x / 7, x % 10]);
    })+ };
}

#[test]
fn division_of_every_width() {
    divisions! {
        "divide_s8" i8, i32;
        "divide_u16" u16, u32;
        "divide_s16" i16, i32;
        "divide_u32" u32, u32;
        "divide_s32" i32, i32;
        "divide_u64" u64, u64;
        "divide_s64" i64, i64;
    }
}

#[test]
fn arithmetic_of_128_bits() {
    let mut random = Random::new(22);
    let edges = [0, 1, u128::from(u64::MAX), 1 << 64, u128::MAX, 1 << 127, 63, 64, 65, 127];
    let mut number =
        |k: usize| if k < edges.len() { edges[k] } else { u128::from(random.long()) << 64 | u128::from(random.long()) };
    let a: Vec<u128> = (0..100).map(|k| number(k / 10)).collect();
    let b: Vec<u128> = (0..100).map(|k| number(k % 10 + if k > 50 { 5 } else { 0 })).collect();
    let want = a.iter().zip(&b).flat_map(|(&x, &y)| {
        let low = |x: u128| u128::from(x as u64);
        let high = |x: u128| i128::from((x >> 64) as i64);
        let signed = (high(x) * high(y)) >> 64;
        let last = (signed as u128) << 64 | (low(x) * low(y)) >> 64;
        [x.wrapping_add(y), x.wrapping_sub(y), x.wrapping_mul(y), x << (y & 127), last]
    });
    let mut corpus = Corpus::strict(source!("wide"));
    let (p, q) = (corpus.buffer(&a), corpus.buffer(&b));
    let (out, sums) = (corpus.room::<u128>(500), corpus.room::<u128>(100));
    corpus.run("wide", [2, 1, 1], [64, 1, 1], &[int(p), int(q), int(out), int(100)]);
    assert_eq!(corpus.read::<u128>(out, 500), want.collect::<Vec<_>>());
    corpus.run("limbs", [2, 1, 1], [64, 1, 1], &[int(p), int(q), int(sums), int(100)]);
    let want: Vec<u128> = a.iter().zip(&b).map(|(x, y)| x.wrapping_add(*y)).collect();
    assert_eq!(corpus.read::<u128>(sums, 100), want);
}

/// Bytes or halves of two words, joined one by one.
fn each(x: u32, y: u32, width: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    let keep = (1u32 << width) - 1;
    (0..32 / width).fold(0, |all, k| all | (f(x >> (width * k) & keep, y >> (width * k) & keep) & keep) << (width * k))
}

fn tricks(x: u32, y: u32) -> [u32; 16] {
    let bytes = u64::from(y) << 32 | u64::from(x);
    let both = u64::from(x) << 32 | u64::from(y);
    let pick = |k: u32| ((bytes >> (8 * (y >> (4 * k) & 7))) as u32 & 0xff) << (8 * k);
    let field = {
        let (at, wide) = (y & 31, i64::from(x as i32));
        ((wide >> at << 55) >> 55) as u32
    };
    let mask = 0x7fu64 << (x & 31);
    let average = (i64::from(x as i32) + i64::from(y as i32) + 1) >> 1;
    let low24 = |v: u32| i64::from((v << 8) as i32 >> 8);
    let half = |v: u32| v as i16;
    [
        (0..4).map(pick).sum(),
        field,
        (u64::from(y) & !mask | (u64::from(x) << (x & 31)) & mask) as u32,
        (bytes << (x & 31) >> 32) as u32,
        (bytes >> y.min(32)) as u32,
        x.reverse_bits(),
        x.leading_zeros(),
        both.count_ones(),
        if both == 0 { 0 } else { both.trailing_zeros() + 1 },
        (x & y) | ((!x & 0x0f0f_0f0f) ^ y),
        each(x, y, 8, u32::wrapping_add),
        each(x, y, 16, u32::wrapping_sub),
        each(x, y, 16, |a, b| u32::from(half(a).max(half(b)) as u16)),
        x.abs_diff(y).wrapping_add(5),
        average as u32,
        (low24(x) * low24(y)) as u32,
    ]
}

#[test]
fn tricks_with_bits() {
    let mut random = Random::new(23);
    let edges = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 31, 32, 0x7fff_8000];
    let mut a: Vec<u32> = (0..64).map(|k| edges[k / 8]).collect();
    let mut b: Vec<u32> = (0..64).map(|k| edges[k % 8]).collect();
    a.extend(random.words(200));
    b.extend(random.words(200));
    let want: Vec<u32> = a.iter().zip(&b).flat_map(|(&x, &y)| tricks(x, y)).collect();
    let mut corpus = Corpus::strict(source!("bits"));
    let (p, q, out) = (corpus.buffer(&a), corpus.buffer(&b), corpus.room::<u32>(want.len()));
    corpus.run("bits", [5, 1, 1], [64, 1, 1], &[int(p), int(q), int(out), int(a.len() as i32)]);
    assert_eq!(corpus.read::<u32>(out, want.len()), want);
}

fn interpret(code: &[u8], start: usize, thread: i32) -> i32 {
    let mut stack = [0i32; 16];
    let mut top = 0usize;
    stack[0] = thread;
    let mut pc = start;
    loop {
        let (b, a) = (stack[top & 15], stack[top.wrapping_sub(1) & 15]);
        let mut replace_two = |value: i32| {
            top = top.wrapping_sub(1);
            stack[top & 15] = value;
        };
        match code[pc] {
            0 => return b,
            2 => replace_two(a.wrapping_add(b)),
            3 => replace_two(a.wrapping_sub(b)),
            4 => replace_two(a.wrapping_mul(b)),
            5 => replace_two(if b == 0 { 0 } else { a.wrapping_div(b) }),
            1 | 6 => {
                pc += usize::from(code[pc] == 1);
                top = top.wrapping_add(1);
                stack[top & 15] = if code[pc - 1] == 1 { i32::from(code[pc]) } else { b };
            }
            7 => stack[top & 15] = b.wrapping_neg(),
            8 => (stack[top & 15], stack[top.wrapping_sub(1) & 15]) = (a, b),
            9 => stack[top & 15] = b ^ (b >> 3),
            _ => return -1,
        }
        pc += 1;
    }
}

#[test]
fn an_interpreter_with_a_jump_table() {
    const PROGRAMS: usize = 100;
    assert!(source!("interpreter").contains("brx.idx"), "the corpus shows no indexed branch");
    let mut random = Random::new(24);
    let (mut code, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..PROGRAMS {
        starts.push(code.len() as i32);
        // Three numbers first, so that what follows has operands; then steps of every kind.
        for _ in 0..3 {
            code.extend([1, (random.word() % 100) as u8]);
        }
        for _ in 0..random.word() % 12 {
            match (2 + random.word() % 9) as u8 {
                10 => code.extend([1, (random.word() % 100) as u8]),
                step => code.push(step),
            }
        }
        code.push(if random.word().is_multiple_of(10) { 77 } else { 0 });
    }
    let want: Vec<i32> = starts.iter().enumerate().map(|(i, &s)| interpret(&code, s as usize, i as i32)).collect();
    let mut corpus = Corpus::strict(source!("interpreter"));
    let (p, q, out) = (corpus.buffer(&code), corpus.buffer(&starts), corpus.room::<i32>(PROGRAMS));
    corpus.run("interpret", [2, 1, 1], [64, 1, 1], &[int(p), int(q), int(out), int(PROGRAMS as i32)]);
    assert_eq!(corpus.read::<i32>(out, PROGRAMS), want);
}
