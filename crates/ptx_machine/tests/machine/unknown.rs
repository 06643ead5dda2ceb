//! Which bits of a result are unknown when some bits of its operands are, for each class of instructions.

use ptx_machine::{AllocOptions, FaultKind};

use crate::harness::{Kernel, body};

/// The value and the unknown bits of `%out` after `text`, in which `%u`, `%v`, `%w` (64 bits) and `%h` (16) were never
/// written, nor was `%up`. Each bit goes to a byte of its own, which then is written or not.
fn run(text: &str) -> (u64, u64) {
    let bits = (0..64).map(|bit| format!("bfe.u64 %bit, %out, {bit}, 1; st.global.u8 [%base+{bit}], %bit;\n"));
    let registers = ".reg .b32 %u, %v; .reg .b64 %w, %out, %bit; .reg .b16 %h, %h1, %h2; .reg .pred %up, %q;\n";
    let text = body(&format!("{registers}{text}\n{}", bits.collect::<String>()));
    let mut kernel = Kernel::new(&text, 1, 1);
    let out = kernel.memory.alloc_scratch("out", 64).unwrap();
    kernel.run(&[out]);
    let (mut value, mut unknown) = (0, 0);
    for bit in 0..64 {
        let mut byte = [0];
        kernel.memory.read(out + bit, &mut byte).unwrap();
        if kernel.memory.unwritten(out + bit, 1).unwrap() == 1 {
            unknown |= 1 << bit;
        } else {
            value |= u64::from(byte[0]) << bit;
        }
    }
    (value, unknown)
}

/// Holds programs that leave their result in `%r1` to the unknown bits and the value of the others.
fn check(rows: &[(&str, u64, u64)]) {
    for &(text, unknown, value) in rows {
        let (found, mask) = run(&format!("{text}\ncvt.u64.u32 %out, %r1;"));
        assert_eq!(mask, unknown, "{text}: {mask:#x}, not {unknown:#x}");
        assert_eq!(found, value, "{text}: {found:#x}, not {value:#x}");
    }
}

/// The same for `%out`.
fn check_wide(rows: &[(&str, u64, u64)]) {
    for &(text, unknown, value) in rows {
        let (found, mask) = run(text);
        assert_eq!(mask, unknown, "{text}: {mask:#x}, not {unknown:#x}");
        assert_eq!(found, value, "{text}: {found:#x}, not {value:#x}");
    }
}

#[test]
fn a_logical_operation_knows_what_one_operand_decides() {
    check(&[
        ("mov.b32 %r1, %u;", 0xffff_ffff, 0),
        ("and.b32 %r1, %u, 0xf0;", 0xf0, 0),
        ("or.b32 %r1, %u, 0xf0;", 0xffff_ff0f, 0xf0),
        ("and.b32 %r1, %u, 0xff; or.b32 %r1, %r1, 0x10f;", 0xf0, 0x10f),
        ("xor.b32 %r1, %u, 0xf0;", 0xffff_ffff, 0),
        ("not.b32 %r1, %u;", 0xffff_ffff, 0),
        ("and.b32 %r1, %u, 0xf; not.b32 %r1, %r1;", 0xf, 0xffff_fff0),
        // a & b, a | c, and a constant, as tables.
        ("lop3.b32 %r1, %u, 0xff, 0, 0xc0;", 0xff, 0),
        ("lop3.b32 %r1, %u, 0, 0xff00, 0xfa;", 0xffff_00ff, 0xff00),
        ("lop3.b32 %r1, %u, %v, %u, 0xff;", 0, 0xffff_ffff),
        // (a & b) | (!a & c) where b = c.
        ("lop3.b32 %r1, %u, 0x5a, 0x5a, 0xca;", 0, 0x5a),
        ("and.b16 %h1, %h, 0x0ff0; cvt.u32.u16 %r1, %h1;", 0x0ff0, 0),
    ]);
    check_wide(&[
        ("and.b64 %out, %w, 0xff00000000000f;", 0x00ff_0000_0000_000f, 0),
        ("or.b64 %out, %w, 0xffffffff;", 0xffff_ffff_0000_0000, 0xffff_ffff),
    ]);
}

#[test]
fn bits_move_with_what_is_unknown_of_them() {
    const NIBBLE: &str = "and.b32 %r2, %u, 0xf0; or.b32 %r2, %r2, 0x80000001;";
    let rows: &[(&str, u64, u64)] = &[
        ("shl.b32 %r1, %r2, 8;", 0xf000, 0x100),
        ("shl.b32 %r1, %r2, 32;", 0, 0),
        ("shr.u32 %r1, %r2, 4;", 0xf, 0x0800_0000),
        ("shr.s32 %r1, %r2, 4;", 0xf, 0xf800_0000),
        ("shl.b32 %r3, %r2, 24; shr.s32 %r1, %r3, 4;", 0xff00_0000, 0x0010_0000),
        ("shl.b32 %r1, %r2, %v;", 0xffff_ffff, 0),
        ("brev.b32 %r1, %r2;", 0x0f00_0000, 0x8000_0001),
        ("bfe.u32 %r1, %r2, 4, 2;", 3, 0),
        ("bfe.s32 %r1, %r2, 4, 2;", 0xffff_ffff, 0),
        ("bfe.u32 %r1, %r2, 8, 8;", 0, 0),
        ("bfe.u32 %r1, %r2, %v, 8;", 0xffff_ffff, 0),
        ("bfi.b32 %r1, %r2, 0, 8, 8;", 0xf000, 0x100),
        ("bfi.b32 %r1, 0xabcd, %r2, 0, 16;", 0, 0x8000_abcd),
        ("shf.l.wrap.b32 %r1, %r2, 0, 8;", 0, 0x80),
        ("shf.r.clamp.b32 %r1, %r2, 0xff, 4;", 0xf, 0xf800_0000),
        ("prmt.b32 %r1, %r2, 0x55667788, 0x4501;", 0xf000, 0x8877_0100),
        ("prmt.b32 %r1, %r2, 0, 0x3210;", 0xf0, 0x8000_0001),
        ("prmt.b32 %r1, %r2, 0, 0x0003;", 0xf0f0_f000, 0x0101_0180),
        // The sign of an unknown byte, and of a known one.
        ("prmt.b32 %r1, %r2, 0, 0x18b8;", 0x00ff_00ff, 0x0000_ff00),
        ("prmt.b32 %r1, %r2, 0, %v;", 0xffff_ffff, 0),
    ];
    let rows: Vec<_> =
        rows.iter().map(|&(text, unknown, value)| (format!("{NIBBLE}\n{text}"), unknown, value)).collect();
    let rows: Vec<_> = rows.iter().map(|(text, unknown, value)| (text.as_str(), *unknown, *value)).collect();
    check(&rows);
}

#[test]
fn parts_of_a_register_are_unknown_by_themselves() {
    check(&[
        ("mov.b16 %h1, 0x1234; mov.b32 %r1, {%h1, %h};", 0xffff_0000, 0x1234),
        ("mov.b16 %h1, 0x1234; mov.b32 %r2, {%h, %h1}; mov.b32 {%h, %h2}, %r2; cvt.u32.u16 %r1, %h2;", 0, 0x1234),
        ("mov.b16 %h1, 0x1234; mov.b32 %r2, {%h, %h1}; mov.b32 {%h2, %h1}, %r2; cvt.u32.u16 %r1, %h2;", 0xffff, 0),
        ("mov.b32 %r2, 7; mov.b64 %out, {%u, %r2}; mov.b64 {%r3, %r1}, %out;", 0, 7),
        ("mov.b32 %r2, 7; mov.b64 %out, {%u, %r2}; mov.b64 {%r1, %r2}, %out;", 0xffff_ffff, 0),
    ]);
    check_wide(&[
        ("mov.b32 %r2, 7; mov.b64 %out, {%u, %r2};", 0xffff_ffff, 7 << 32),
        ("mov.b32 %r2, 7; mov.b64 %w, {%r2, %u}; shr.u64 %out, %w, 16;", 0x0000_ffff_ffff_0000, 0),
        ("mov.b16 %h1, 1; mov.b64 %out, {%h1, %h, %h1, %h1};", 0xffff_0000, 0x0001_0001_0000_0001),
    ]);
}

#[test]
fn conversions_extend_what_is_unknown() {
    check(&[
        ("cvt.u32.u16 %r1, %h;", 0xffff, 0),
        ("cvt.s32.s16 %r1, %h;", 0xffff_ffff, 0),
        ("or.b32 %r2, %u, 0x80; cvt.s32.s8 %r1, %r2;", 0x7f, 0xffff_ff80),
        ("and.b32 %r2, %u, 0xffffff00; cvt.u32.u8 %r1, %r2;", 0, 0),
        ("and.b32 %r2, %u, 1; cvt.sat.u8.s32 %r1, %r2;", 0xffff_ffff, 0),
        ("and.b32 %r2, %u, 1; cvt.rn.f32.u32 %f1, %r2; mov.b32 %r1, %f1;", 0xffff_ffff, 0),
        // Halves of a pair.
        ("mov.b32 %f1, %u; cvt.rn.f16x2.f32 %r1, 0f3f800000, %f1;", 0xffff, 0x3c00_0000),
        ("mov.b32 %f1, %u; cvt.rn.bf16x2.f32 %r1, %f1, 0f3f800000;", 0xffff_0000, 0x3f80),
    ]);
    check_wide(&[
        ("cvt.u64.u32 %out, %u;", 0xffff_ffff, 0),
        ("cvt.s64.s32 %out, %u;", u64::MAX, 0),
        ("and.b32 %r2, %u, 1; cvt.s64.s32 %out, %r2;", 1, 0),
    ]);
}

#[test]
fn sums_and_products_are_known_where_no_unknown_carry_reaches() {
    check(&[
        ("add.u32 %r1, %u, 1;", 0xffff_ffff, 0),
        ("and.b32 %r2, %u, 0xf0; add.u32 %r1, %r2, 0x3;", 0xf0, 3),
        ("and.b32 %r2, %u, 0xf0; add.u32 %r1, %r2, 0x13;", 0x1f0, 3),
        ("and.b32 %r2, %u, 0xf0; sub.u32 %r1, 0xff, %r2;", 0xf0, 0xf),
        ("and.b32 %r2, %u, 0xf0; sub.u32 %r1, %r2, 1;", 0xffff_fff0, 0xf),
        ("and.b32 %r2, %u, 0xf0; neg.s32 %r1, %r2;", 0xffff_fff0, 0),
        ("and.b32 %r2, %u, 0xf0; or.b32 %r2, %r2, 3; mul.lo.u32 %r1, %r2, 5;", 0xffff_fff0, 0xf),
        ("and.b32 %r2, %u, 0xf0; mul.lo.u32 %r1, %r2, 16;", 0xffff_ff00, 0),
        ("mul.lo.u32 %r1, %u, 0;", 0, 0),
        ("mad.lo.u32 %r1, %u, 256, 0x7f;", 0xffff_ff00, 0x7f),
        ("and.b32 %r2, %u, 0xf0; mul.hi.u32 %r1, %r2, 16;", 0xffff_ffff, 0),
        ("and.b32 %r2, %u, 0xf0; div.u32 %r1, %r2, 16;", 0xffff_ffff, 0),
        ("and.b32 %r2, %u, 0xf0; max.u32 %r1, %r2, 16;", 0xffff_ffff, 0),
        ("add.u16 %h1, %h, 1; cvt.u32.u16 %r1, %h1;", 0xffff, 0),
        ("and.b16 %h1, %h, 0xff; add.u16 %h1, %h1, 1; cvt.u32.u16 %r1, %h1;", 0x1ff, 0),
    ]);
    check_wide(&[
        ("mul.wide.u32 %out, %u, 4096;", !0xfff, 0),
        ("mov.b64 %w, 5; mad.wide.u32 %out, %u, 8, %w;", !7, 5),
        ("and.b32 %r2, %u, 0xf0; cvt.u64.u32 %w, %r2; add.u64 %out, %w, 0x100000001;", 0xf0, 0x1_0000_0001),
    ]);
}

#[test]
fn counts_are_known_above_what_they_can_reach() {
    check(&[
        ("and.b32 %r2, %u, 7; popc.b32 %r1, %r2;", 3, 0),
        ("or.b32 %r2, %u, 0x10000000; clz.b32 %r1, %r2;", 3, 0),
        ("or.b32 %r2, %u, 0x80000000; clz.b32 %r1, %r2;", 0, 0),
        ("or.b32 %r2, %u, 2; cnot.b32 %r1, %r2;", 0, 0),
        ("cnot.b32 %r1, %u;", 1, 0),
        ("or.b32 %r2, %u, 0x80000000; bfind.u32 %r1, %r2;", 0xffff_ffff, 0),
    ]);
}

#[test]
fn comparisons_are_known_where_the_known_bits_decide() {
    let decided = [
        ("eq.u32", "or.b32 %r2, %u, 1;", "%r2, 2", Some(false)),
        ("ne.s32", "or.b32 %r2, %u, 1;", "%r2, 2", Some(true)),
        ("eq.u32", "and.b32 %r2, %u, 1;", "%r2, 0", None),
        ("lt.u32", "and.b32 %r2, %u, 15;", "%r2, 16", Some(true)),
        ("lt.u32", "and.b32 %r2, %u, 15;", "%r2, 15", None),
        ("gt.u32", "and.b32 %r2, %u, 15;", "%r2, 15", Some(false)),
        ("ge.s32", "or.b32 %r2, %u, 0x80000000;", "%r2, 0", Some(false)),
        ("le.s32", "and.b32 %r2, %u, 0x7fffffff;", "-1, %r2", Some(true)),
        ("lt.s32", "mov.b32 %r2, %u;", "%r2, 0", None),
        ("lt.s16", "or.b16 %h1, %h, 0x8000;", "%h1, 0", Some(true)),
        ("hi.u32", "or.b32 %r2, %u, 0x80;", "%r2, 0x7f", Some(true)),
    ];
    for (cmp, before, operands, outcome) in decided {
        let text = format!("{before} setp.{cmp} %q, {operands}; selp.u32 %r1, 2, 1, %q;");
        let (unknown, value) = outcome.map_or((3, 0), |holds| (0, if holds { 2 } else { 1 }));
        check(&[(&text, unknown, value)]);
    }
    check(&[
        // A second result, and a join that decides by itself.
        ("or.b32 %r2, %u, 1; setp.eq.u32 %p1|%p2, %r2, 2; selp.u32 %r1, 2, 1, %p2;", 0, 2),
        ("setp.lt.u32 %p1, %t, 0; setp.eq.and.u32 %q, %u, 2, %p1; selp.u32 %r1, 2, 1, %q;", 0, 1),
        ("setp.eq.or.u32 %q, %u, 2, %up; selp.u32 %r1, 2, 1, %q;", 3, 0),
        ("mov.b32 %f1, %u; setp.lt.f32 %q, %f1, 0f00000000; selp.u32 %r1, 2, 1, %q;", 3, 0),
    ]);
}

#[test]
fn selections_know_what_both_sides_agree_on() {
    check(&[
        ("selp.u32 %r1, 0x12, 0x13, %up;", 1, 0x12),
        ("setp.eq.u32 %q, %t, 0; selp.b32 %r1, 5, %u, %q;", 0, 5),
        ("setp.eq.u32 %q, %t, 0; selp.b32 %r1, %u, 5, %q;", 0xffff_ffff, 0),
        ("slct.u32.s32 %r1, 5, %u, 1;", 0, 5),
        ("slct.u32.s32 %r1, 5, %u, -1;", 0xffff_ffff, 0),
        ("slct.u32.s32 %r1, 5, 5, %u;", 0xffff_ffff, 0),
    ]);
    check_wide(&[("selp.b64 %out, 0x500000000, 0x700000000, %up;", 2 << 32, 5 << 32)]);
}

#[test]
fn floats_are_known_or_not_one_by_one() {
    check(&[
        ("mov.b32 %f1, %u; add.rn.f32 %f2, %f1, 0f3f800000; mov.b32 %r1, %f2;", 0xffff_ffff, 0),
        ("and.b32 %r2, %u, 0xffff; or.b32 %r2, %r2, 0x3c000000; add.rn.f16x2 %r1, %r2, %r2;", 0xffff, 0x4000_0000),
        ("and.b32 %r2, %u, 1; copysign.f32 %f1, 0fbf800000, %r2; mov.b32 %r1, %f1;", 1, 0x8000_0000),
    ]);
    check_wide(&[(
        "mov.b32 %r2, 0f3f800000; mov.b64 %w, {%u, %r2}; add.rn.f32x2 %out, %w, %w;",
        0xffff_ffff,
        0x4000_0000_0000_0000,
    )]);
}

#[test]
fn ballots_are_unknown_bit_by_bit() {
    let text = body(
        ".reg .pred %up;
         setp.lt.u32 %p1, %t, 30;
         @%p1 setp.lt.u32 %up, %t, 4;
         vote.sync.ballot.b32 %r1, %up, -1;
         and.b32 %r1, %r1, 0x3fffffff;
         st.global.u32 [%at], %r1;",
    );
    let mut kernel = Kernel::new(&text, 1, 32);
    let out = kernel.unwritten("out", 32);
    kernel.run(&[out]);
    assert_eq!(kernel.read(out, 32), [15; 32]);
}

/// A buffer of the first bytes of 1, 2, 3, … of which only those that `written` names were written.
fn partly_written(kernel: &mut Kernel, bytes: usize, written: &[usize], options: AllocOptions) -> u64 {
    let values: Vec<u8> = (1..=bytes as u8).collect();
    let options = AllocOptions { initialised: false, ..options };
    let address = kernel.memory.alloc("part", &values, options).unwrap();
    for &at in written {
        kernel.memory.write(address + at as u64, &values[at..=at]).unwrap();
    }
    address
}

#[test]
fn a_load_knows_the_bytes_that_were_written() {
    // The text, which of bytes 0 to 7 were written, and what is known of the result.
    let rows: &[(&str, &[usize], Result<u32, ()>)] = &[
        ("ld.global.u32 %r1, [%base]; and.b32 %r1, %r1, 0xffff;", &[0, 1], Ok(0x0201)),
        ("ld.global.u32 %r1, [%base]; and.b32 %r1, %r1, 0x1ffff;", &[0, 1], Err(())),
        ("ld.global.v2.u16 {%r1, %r2}, [%base];", &[0, 1], Ok(0x0201)),
        ("ld.global.v2.u16 {%r2, %r1}, [%base];", &[0, 1], Err(())),
        ("ld.global.u64 %rd1, [%base]; shr.u64 %rd1, %rd1, 32; cvt.u32.u64 %r1, %rd1;", &[4, 5, 6, 7], Ok(0x0807_0605)),
        ("ld.global.s16 %r1, [%base]; shr.s32 %r1, %r1, 8;", &[1], Ok(2)),
        ("ld.global.s16 %r1, [%base]; shr.s32 %r1, %r1, 8;", &[0], Err(())),
        ("ld.global.u8 %r1, [%base+1];", &[1], Ok(2)),
    ];
    for &(text, written, outcome) in rows {
        let mut kernel = Kernel::new(&body(&format!("{text}\nst.global.u32 [%base+8], %r1;")), 1, 1);
        let buffer = partly_written(&mut kernel, 12, written, AllocOptions::default());
        match outcome {
            Ok(value) => {
                kernel.run(&[buffer]);
                assert_eq!(kernel.read(buffer + 8, 1), [value], "{text}");
            }
            Err(()) => assert_eq!(kernel.fault(&[buffer]).kind, FaultKind::UninitialisedStore, "{text}"),
        }
    }
}

/// A structure of a byte, three bytes of padding and a word, copied as one.
#[test]
fn unknown_bytes_pass_through_shared_local_and_scratch_memory() {
    for (declare, place) in [(".shared .b64 m;", "shared"), (".local .b64 m;", "local"), ("", "global")] {
        let at = if declare.is_empty() { "%base+8" } else { "m" };
        let copy = format!(
            "{declare}\nld.global.b64 %rd1, [%base];\nst.{place}.b64 [{at}], %rd1;\nld.{place}.v2.u32 {{%r1, %r2}}, [{at}];\n"
        );
        let scratch = AllocOptions { scratch: true, ..AllocOptions::default() };
        let good = format!("{copy}and.b32 %r1, %r1, 255;\nadd.u32 %r1, %r1, %r2;\nadd.u64 %rd2, %base, %r1;\n")
            .replace("add.u64 %rd2, %base, %r1", "cvt.u64.u32 %rd2, %r1");
        let good = body(&format!("{good}\nmov.u64 %rd3, out;\nst.global.u64 [%rd3], %rd2;"))
            .replace(".entry", ".global .u64 out;\n.entry");
        let mut kernel = Kernel::new(&good, 1, 1);
        let buffer = partly_written(&mut kernel, 16, &[0, 4, 5, 6, 7], scratch);
        kernel.run(&[buffer]);
        let bad = body(&format!("{copy}mov.u64 %rd3, out;\nst.global.u32 [%rd3], %r1;"))
            .replace(".entry", ".global .u64 out;\n.entry");
        let mut kernel = Kernel::new(&bad, 1, 1);
        let buffer = partly_written(&mut kernel, 16, &[0, 4, 5, 6, 7], scratch);
        let fault = kernel.fault(&[buffer]);
        assert_eq!(fault.kind, FaultKind::UninitialisedStore, "{place}");
        assert!(fault.message.contains("bits 0xffffff00 unknown, loaded on line"), "{fault}");
    }
}

#[test]
fn a_store_makes_bytes_of_scratch_unknown_again() {
    let text = body("and.b32 %r2, %r1, 0xff00;\nst.global.u32 [%base], %r2;\nst.global.u8 [%base+3], 1;");
    let text = text.replace("[%base+3], 1", "[%base+3], %t");
    let mut kernel = Kernel::new(&text, 1, 1);
    let scratch = AllocOptions { scratch: true, ..AllocOptions::default() };
    let buffer = kernel.memory.alloc("buffer", &[7; 8], scratch).unwrap();
    kernel.run(&[buffer]);
    let unwritten: Vec<_> = (0..8).map(|at| kernel.memory.unwritten(buffer + at, 1).unwrap()).collect();
    assert_eq!(unwritten, [0, 1, 0, 0, 0, 0, 0, 0]);
    // Known bytes of an unknown register may go to an output.
    let mut kernel = Kernel::new(&body("and.b32 %r2, %r1, 0xff00;\nst.global.u8 [%base], %r2;"), 1, 1);
    let buffer = kernel.unwritten("buffer", 1);
    kernel.run(&[buffer]);
    let mut kernel = Kernel::new(&body("st.global.u32 [%base], %r1;"), 1, 1);
    let buffer = kernel.unwritten("buffer", 1);
    let f = kernel.fault(&[buffer]);
    assert!(f.message.contains("all bits unknown, of a register that nothing was written to"), "{f}");
}

#[test]
fn reports_name_the_bits_and_the_line() {
    let fault = |text: &str| {
        let mut kernel = Kernel::new(&body(text), 1, 32);
        let buffer = kernel.unwritten("buffer", 32);
        kernel.fault(&[buffer])
    };
    // Line 10 is the first of the text.
    let f = fault(
        "ld.global.u32 %r1, [%at];\nmul.wide.u32 %rd1, %r1, 4;\nadd.u64 %rd1, %rd1, %base;\nst.global.u32 [%rd1], %t;",
    );
    assert_eq!((f.kind, f.lane), (FaultKind::UninitialisedAddress, Some(0)));
    assert!(f.message.contains("the address depends on a value that was never written ("), "{f}");
    assert!(f.message.contains(&format!("loaded on line {}", f.line - 3)), "{f}");
    let f = fault("ld.global.u32 %r1, [%at];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 trap;");
    assert_eq!(f.kind, FaultKind::UninitialisedPredicate);
    assert!(f.message.contains(&format!("(loaded on line {})", f.line - 2)), "{f}");
    let f = fault("setp.eq.u32 %p1, %t, 3;\n@!%p1 mov.b32 %r1, 5;\nshfl.sync.up.b32 %r2, %r1, 1, 0, -1;");
    assert_eq!((f.kind, f.lane), (FaultKind::UninitialisedOperand, Some(4)));
    assert!(f.message.contains("reads the value of lane 3, which was never written"), "{f}");
    let f = fault("setp.eq.u32 %p1, %t, 0;\n@!%p1 mov.b32 %r1, 5;\nshfl.sync.up.b32 %r2, %r1, 1, 0, -1;");
    assert!(f.message.contains("reads its own value"), "{f}");
}

#[test]
fn a_lane_that_no_one_reads_may_be_unknown() {
    // Lane 31 was never written; a shuffle down by one that lane 30 does not take part in does not read it.
    let text = body(
        "setp.lt.u32 %p1, %t, 31;
         @%p1 mov.b32 %r1, %t;
         shfl.sync.idx.b32 %r2, %r1, 7, 31, -1;
         st.global.u32 [%at], %r2;",
    );
    let mut kernel = Kernel::new(&text, 1, 32);
    let out = kernel.unwritten("out", 32);
    kernel.run(&[out]);
    assert_eq!(kernel.read(out, 32), [7; 32]);
}

#[test]
fn a_copy_keeps_the_bytes_that_were_written() {
    let copy = ".shared .align 16 .b8 tile[16];
         mov.u32 %r1, tile;
         cp.async.ca.shared.global [%r1], [%base], 16;
         cp.async.wait_all;\n";
    for (load, known) in [("[%r1+4]", true), ("[%r1+8]", false)] {
        let mut kernel =
            Kernel::new(&body(&format!("{copy}ld.shared.u32 %r2, {load};\nst.global.u32 [%base+16], %r2;")), 1, 1);
        let buffer = partly_written(&mut kernel, 20, &[0, 1, 2, 3, 4, 5, 6, 7, 8], AllocOptions::default());
        if known {
            kernel.run(&[buffer]);
        } else {
            assert_eq!(kernel.fault(&[buffer]).kind, FaultKind::UninitialisedStore);
        }
    }
}
