//! Atomic operations: every operation and type against the host, and what they do where memory was not written.

use ptx_machine::{AllocOptions, FaultKind};

use crate::harness::{B16, B32, B64, HEADER, Kernel, Ty, body, check, product};

const WORDS: &[u64] = &[0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];
const LONGS: &[u64] = &[0, 1, 0xffff_ffff, 0x1_0000_0000, i64::MAX as u64, 1 << 63, u64::MAX];

/// `op` on a word of shared memory that holds `%a`, a word for each thread; `%out` is the old value, or the new one.
fn line(op: &str, store: &str, load: &str, bytes: u32, gives_old: bool) -> String {
    let keep = if gives_old { "" } else { &format!("ld.shared.{load} %out, [%s];") };
    format!(
        "{{ .shared .align 8 .b8 slots[1024]; .reg .b32 %s; mov.u32 %s, slots; mad.lo.u32 %s, %t, {bytes}, %s;\n\
         st.shared.{store} [%s], %a; {op}\n{keep} }}"
    )
}

type Rule = fn(u64, u64) -> u64;

fn hold(op: &str, word: &str, ty: Ty, values: &[u64], rule: Rule) {
    let rows = product(&[values, values]);
    let bits = format!("b{}", 8 * ty.bytes);
    let atom = format!("atom.shared.{op}.{word} %out, [%s], %b;");
    check(&line(&atom, &bits, &bits, ty.bytes, true), ty, &[ty, ty], &rows, |r| r[0]);
    let new = |r: &[u64]| rule(r[0], r[1]);
    check(&line(&atom, &bits, &bits, ty.bytes, false), ty, &[ty, ty], &rows, new);
    if op != "exch" && op != "cas" {
        let red = format!("red.shared.{op}.{word} [%s], %b;");
        check(&line(&red, &bits, &bits, ty.bytes, false), ty, &[ty, ty], &rows, new);
    }
    // The same by a generic address, with an order and a scope, and as libcu++ writes it.
    for form in [format!("atom.acq_rel.gpu.{op}.{word}"), format!("atom.{op}.relaxed.cta.{word}")] {
        let generic = format!("{{ .reg .b64 %g; cvt.u64.u32 %g, %s; cvta.shared.u64 %g, %g; {form} %out, [%g], %b; }}");
        check(&line(&generic, &bits, &bits, ty.bytes, false), ty, &[ty, ty], &rows, new);
    }
}

#[test]
fn whole_numbers_of_32_bits() {
    let w = |x: u64| x & 0xffff_ffff;
    assert_eq!(w(1 << 32), 0);
    hold("add", "u32", B32, WORDS, |a, b| a.wrapping_add(b) & 0xffff_ffff);
    hold("add", "s32", B32, WORDS, |a, b| a.wrapping_add(b) & 0xffff_ffff);
    hold("min", "u32", B32, WORDS, u64::min);
    hold("max", "u32", B32, WORDS, u64::max);
    hold("min", "s32", B32, WORDS, |a, b| u64::from((a as i32).min(b as i32) as u32));
    hold("max", "s32", B32, WORDS, |a, b| u64::from((a as i32).max(b as i32) as u32));
    hold("inc", "u32", B32, WORDS, |a, b| if a >= b { 0 } else { a + 1 });
    hold("dec", "u32", B32, WORDS, |a, b| if a == 0 || a > b { b } else { a - 1 });
    hold("and", "b32", B32, WORDS, |a, b| a & b);
    hold("or", "b32", B32, WORDS, |a, b| a | b);
    hold("xor", "b32", B32, WORDS, |a, b| a ^ b);
    hold("exch", "b32", B32, WORDS, |_, b| b);
}

#[test]
fn whole_numbers_of_64_bits() {
    hold("add", "u64", B64, LONGS, u64::wrapping_add);
    hold("min", "u64", B64, LONGS, u64::min);
    hold("max", "s64", B64, LONGS, |a, b| (a as i64).max(b as i64) as u64);
    hold("min", "s64", B64, LONGS, |a, b| (a as i64).min(b as i64) as u64);
    hold("and", "b64", B64, LONGS, |a, b| a & b);
    hold("xor", "b64", B64, LONGS, |a, b| a ^ b);
    hold("exch", "b64", B64, LONGS, |_, b| b);
}

#[test]
fn compare_and_swap_of_every_width() {
    for (word, ty, values) in
        [("b16", B16, &[0, 1, 0xffff][..]), ("b32", B32, &[0, 1, 0xffff_ffff]), ("b64", B64, LONGS)]
    {
        let rows = product(&[values, values, values]);
        let atom = format!("atom.shared.cas.{word} %out, [%s], %b, %c;");
        check(&line(&atom, word, word, ty.bytes, true), ty, &[ty; 3], &rows, |r| r[0]);
        let new = |r: &[u64]| if r[0] == r[1] { r[2] } else { r[0] };
        check(&line(&atom, word, word, ty.bytes, false), ty, &[ty; 3], &rows, new);
    }
}

#[test]
fn floats_add_to_the_nearest_and_flush_in_global_memory_only() {
    let f = |x: f32| u64::from(x.to_bits());
    let values =
        [f(0.0), f(-0.0), f(1.0), f(-1.0), f(1e-30), f(16_777_217.0), f(f32::MAX), 1, 0x8000_0003, 0x7f80_0000];
    hold("add", "f32", B32, &values, |a, b| {
        let sum = f32::from_bits(a as u32) + f32::from_bits(b as u32);
        if sum.is_nan() { 0x7fff_ffff } else { u64::from(sum.to_bits()) }
    });
    let d = |x: f64| x.to_bits();
    let values = [d(0.0), d(-0.0), d(1.5), d(-1.5), d(1e-300), d(f64::MAX), 1, d(9_007_199_254_740_993.0)];
    hold("add", "f64", B64, &values, |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits());
    // Two whole numbers of f16 and of bf16: 1, 2, -3.
    hold("add.noftz", "f16x2", B32, &[0x3c00_4000, 0xc200_3c00], |a, b| match a ^ b {
        0 if a == 0x3c00_4000 => 0x4000_4400,
        0 => 0xc600_4000,
        _ => 0xc000_4200,
    });
    hold("add.noftz", "bf16", B16, &[0x3f80, 0x4000], |a, b| match (a, b) {
        (0x3f80, 0x3f80) => 0x4000,
        (0x4000, 0x4000) => 0x4080,
        _ => 0x4040,
    });
    let mut kernel = Kernel::new(&body("red.global.add.f32 [%at], 0f00000001;"), 1, 2);
    let at = kernel.words("sums", &[0x0000_0003, 0x3f80_0000]);
    kernel.run(&[at]);
    assert_eq!(kernel.read(at, 2), [0, 0x3f80_0000]);
}

#[test]
fn sums_of_f64_keep_the_nan_that_the_device_keeps() {
    const QUIET: u64 = 0x7ff8_0000_0000_0005;
    const SIGNALLING: u64 = 0xfff0_0000_0000_0001;
    const MADE_QUIET: u64 = 0xfff8_0000_0000_0001;
    let one = 1f64.to_bits();
    // What lies there, the operand; what the sum is in shared memory and in global memory.
    let rows = [
        (one, SIGNALLING, MADE_QUIET, SIGNALLING),
        (SIGNALLING, one, MADE_QUIET, SIGNALLING),
        (QUIET, SIGNALLING, QUIET, SIGNALLING),
        (SIGNALLING, QUIET, MADE_QUIET, QUIET),
        (f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits(), 0xfff8 << 48, 0xfff8 << 48),
    ];
    for (old, b, in_shared, in_global) in rows {
        let atom = line("atom.shared.add.f64 %out, [%s], %b;", "b64", "b64", 8, false);
        check(&atom, B64, &[B64, B64], &[vec![old, b]], |_| in_shared);
        let mut kernel = Kernel::new(&body(&format!("red.add.f64 [%base], 0d{b:016X};")), 1, 1);
        let at = kernel.words("sum", &[old as u32, (old >> 32) as u32]);
        kernel.run(&[at]);
        assert_eq!(kernel.read(at, 2), [in_global as u32, (in_global >> 32) as u32]);
    }
}

#[test]
fn generic_addresses_lead_where_ptx_allows() {
    let declared =
        "{ .shared .align 16 .b8 tile[64]; .local .align 16 .b8 frame[64]; .reg .b64 %g; mov.f32 %f1, 0f3f800000;";
    let shared = "mov.u64 %g, tile; cvta.shared.u64 %g, %g; st.v4.f32 [%g], {%f1, %f1, %f1, %f1};";
    let local = "mov.u64 %g, frame; cvta.local.u64 %g, %g; st.v4.f32 [%g], {%f1, %f1, %f1, %f1};";
    for (place, line) in [
        (shared, "red.add.v2.f32 [%g], {%f1, %f1};"),
        (shared, "atom.add.v4.f32 {%f1, %f2, %f3, %f4}, [%g], {%f1, %f1, %f1, %f1};"),
        (local, "red.add.u32 [%g], 1;"),
        (local, "atom.cas.b32 %r1, [%g], 0, 1;"),
        (shared, "st.mmio.relaxed.sys.f32 [%g], %f1;"),
        (shared, "ld.mmio.relaxed.sys.f32 %f1, [%g];"),
        (shared, "createpolicy.fractional.L2::evict_first.b64 %at, 1.0; ld.L2::cache_hint.f32 %f1, [%g], %at;"),
    ] {
        let fault = Kernel::new(&body(&format!("{declared} {place} {line} }}")), 1, 1).fault(&[0]);
        assert_eq!(fault.kind, FaultKind::WrongSpace, "{line}: {fault}");
        assert!(fault.message.ends_with(" memory") && fault.message.contains("+0 of "), "{fault}");
    }
    // The same in global memory, and what may go anywhere.
    let mut kernel = Kernel::new(&body("red.add.v2.f32 [%at], {0f3f800000, 0f40000000};"), 1, 1);
    let at = kernel.words("sums", &[0, 0]);
    kernel.run(&[at]);
    assert_eq!(kernel.read(at, 2), [1f32.to_bits(), 2f32.to_bits()]);
    let both = format!("{declared} {shared} red.add.u32 [%g], 1; {local} st.volatile.f32 [%g], %f1; }}");
    Kernel::new(&body(&both), 1, 1).run(&[0]);
}

#[test]
fn lanes_that_meet_take_turns() {
    let text = "{ .reg .b64 %one; mov.u64 %one, %base; atom.global.add.u32 %r1, [%one], %t; add.u64 %at, %at, 4;\n\
        st.global.u32 [%at], %r1; }";
    let mut kernel = Kernel::new(&body(text), 1, 32);
    let at = kernel.words("sum", &[100; 33]);
    kernel.run(&[at]);
    let want: Vec<u32> = (0..32).map(|t| 100 + (0..t).sum::<u32>()).collect();
    assert_eq!(kernel.read(at, 33), [&[100 + 496], want.as_slice()].concat());
}

#[test]
fn blocks_on_many_host_threads_lose_nothing() {
    let text = ".reg .b64 %sum; .reg .f64 %d; add.u64 %sum, %base, 8; red.global.add.u64 [%sum], 1;\n\
        red.global.add.u32 [%base], 1; add.u64 %sum, %base, 16; red.global.add.f64 [%sum], 0d3FF0000000000000;";
    let mut kernel = Kernel::new(&body(text), 500, 64);
    kernel.config.threads = 4;
    let at = kernel.words("counts", &[0; 6]);
    kernel.run(&[at]);
    let counts = kernel.read(at, 6);
    assert_eq!((counts[0], counts[2]), (32_000, 32_000));
    assert_eq!(f64::from_bits(u64::from(counts[5]) << 32 | u64::from(counts[4])), 32_000.0);
}

#[test]
fn vectors_add_part_by_part() {
    let text = "mad.wide.u32 %at, %t, 12, %at;\nred.global.add.v4.f32 [%at], {%f1, %f1, 0f40000000, %f1};\n\
        atom.global.add.v2.f32 {%f2, %f3}, [%at], {0f3f800000, 0f3f800000};\nst.global.f32 [%at+12], %f3;";
    let mut kernel = Kernel::new(&body(&format!("mov.f32 %f1, 0f3f000000;\n{text}")), 1, 2);
    let at = kernel.words("sums", &[0x3f80_0000; 8]);
    kernel.run(&[at]);
    let want = [2.5f32, 2.5, 3.0, 1.5].map(f32::to_bits);
    assert_eq!(kernel.read(at, 8), [want, want].concat());
}

#[test]
fn what_was_never_written_is_reported() {
    let mut kernel = Kernel::new(&body("red.global.add.u32 [%at], 1;"), 1, 32);
    let at =
        kernel.memory.alloc("out", &[0; 64], AllocOptions { initialised: false, ..AllocOptions::default() }).unwrap();
    assert_eq!(kernel.fault(&[at]).kind, FaultKind::UninitialisedStore);
    // An exchange writes all the same; what it gives back is no value.
    let mut kernel = Kernel::new(&body("atom.global.exch.b32 %r1, [%at], %t;"), 1, 32);
    let at = kernel.unwritten("out", 32);
    kernel.run(&[at]);
    assert_eq!(kernel.read(at, 32), (0..32).collect::<Vec<_>>());
    let mut kernel = Kernel::new(&body("atom.global.cas.b32 %r1, [%at], %r9, 1;"), 1, 1);
    let at = kernel.words("out", &[0]);
    assert_eq!(kernel.fault(&[at]).kind, FaultKind::UninitialisedOperand);
}

#[test]
fn places_are_checked_as_those_of_stores_are() {
    let mut past = Kernel::new(&body("red.global.add.u32 [%at+4], 1;"), 1, 2);
    let at = past.words("two", &[0, 0]);
    assert_eq!(past.fault(&[at]).kind, FaultKind::OutOfBounds);
    let mut odd = Kernel::new(&body("red.global.add.u64 [%base+4], 1;"), 1, 1);
    let at = odd.words("four", &[0; 4]);
    assert_eq!(odd.fault(&[at]).kind, FaultKind::Misaligned);
    let constant = body("{ .reg .b64 %c; mov.u64 %c, fixed; cvta.const.u64 %c, %c; red.add.u32 [%c], 1; }")
        .replace(HEADER, &format!("{HEADER}.const .b32 fixed = 5;\n"));
    assert_eq!(Kernel::new(&constant, 1, 1).fault(&[0]).kind, FaultKind::WrongSpace);
}
