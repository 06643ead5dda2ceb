//! Random integer programs on partly unknown inputs: what the machine calls known does not depend on what is unknown.

use arbitrary::Unstructured;
use proptest::prelude::*;
use proptest::sample::select;
use ptx_machine::{AllocOptions, Arg, LaunchConfig, Memory, Module, Path, launch};

use crate::fuzz;
use crate::harness::HEADER;

/// Few, since every bit of every register of a thread is looked at.
const THREADS: usize = 8;
/// Registers of each file, named and counted as the fuzzer has them; all of them are inputs and results.
const EACH: usize = 8;
const PREDICATES: usize = 4;
/// Bytes of a thread's inputs.
const INPUTS: usize = (8 + 4 + 2) * EACH;
/// Bits of a thread's results.
const RESULTS: usize = (64 + 32 + 16) * EACH + PREDICATES;

/// Instructions that only move bits, or turn them over: a bit of the result that is called unknown depends on one.
const MOVES: &[&str] = &[
    "mov.b32 R, R;",
    "mov.b64 D, D;",
    "mov.b32 R, {H, H};",
    "mov.b32 {H, H}, R;",
    "mov.b64 D, {R, R};",
    "mov.b64 {R, R}, D;",
    "mov.b64 D, {H, H, H, H};",
    "not.b32 R, R;",
    "not.b64 D, D;",
    "brev.b32 R, R;",
    "brev.b64 D, D;",
    "shl.b32 R, R, I;",
    "shl.b64 D, D, I;",
    "shl.b16 H, H, I;",
    "shr.u32 R, R, I;",
    "shr.s32 R, R, I;",
    "shr.s16 H, H, I;",
    "shr.u64 D, D, I;",
    "shr.s64 D, D, I;",
    "bfe.u32 R, R, I, I;",
    "bfe.s32 R, R, I, I;",
    "bfe.u64 D, D, I, I;",
    "bfe.s64 D, D, I, I;",
    "bfi.b32 R, R, R, I, I;",
    "bfi.b64 D, D, D, I, I;",
    "shf.l.wrap.b32 R, R, R, I;",
    "shf.r.clamp.b32 R, R, R, I;",
    "prmt.b32 R, R, R, 0x7B2C;",
    "prmt.b32 R, R, R, 0x8A06;",
    "prmt.b32.rc16 R, R, R, 1;",
    "prmt.b32.f4e R, R, R, 3;",
    "cvt.u32.u16 R, H;",
    "cvt.s32.s16 R, H;",
    "cvt.s32.s8 R, R;",
    "cvt.u16.u32 H, R;",
    "cvt.s64.s32 D, R;",
    "cvt.u64.u32 D, R;",
    "cvt.u32.u64 R, D;",
    "and.b32 R, R, 0xff00f0;",
    "or.b32 R, R, 0xff00f0;",
    "xor.b32 R, R, 0xff00f0;",
    "and.b64 D, D, 0xff00f0000;",
    "copysign.f32 R, R, R;",
];

const OTHERS: &[&str] = &[
    "and.b32 R, R, R;",
    "or.b32 R, R, R;",
    "xor.b32 R, R, R;",
    "and.b16 H, H, H;",
    "or.b64 D, D, D;",
    "lop3.b32 R, R, R, R, 0xca;",
    "lop3.b32 R, R, R, R, 0x96;",
    "lop3.b32 R, R, R, R, 0xe8;",
    "cnot.b32 R, R;",
    "clz.b32 R, R;",
    "clz.b64 R, D;",
    "popc.b32 R, R;",
    "popc.b64 R, D;",
    "bfind.u32 R, R;",
    "bfind.shiftamt.s64 R, D;",
    "shl.b32 R, R, R;",
    "shr.s64 D, D, R;",
    "shf.l.clamp.b32 R, R, R, R;",
    "prmt.b32 R, R, R, R;",
    "bfe.s32 R, R, R, R;",
    "bfi.b32 R, R, R, R, R;",
    "add.u32 R, R, R;",
    "add.u32 R, R, I;",
    "add.s64 D, D, D;",
    "add.u16 H, H, H;",
    "sub.u32 R, R, R;",
    "sub.s64 D, D, I;",
    "neg.s32 R, R;",
    "neg.s16 H, H;",
    "abs.s32 R, R;",
    "mul.lo.u32 R, R, R;",
    "mul.lo.u32 R, R, I;",
    "mul.lo.s64 D, D, D;",
    "mul.hi.s32 R, R, R;",
    "mul.wide.u32 D, R, R;",
    "mul.wide.s32 D, R, I;",
    "mul.wide.s16 R, H, H;",
    "mad.lo.s32 R, R, R, R;",
    "mad.wide.u32 D, R, I, D;",
    "mad.wide.s16 R, H, H, R;",
    "sad.u32 R, R, R, R;",
    "div.u32 R, R, R;",
    "rem.s32 R, R, R;",
    "min.s32 R, R, R;",
    "max.u64 D, D, D;",
    "cvt.sat.u8.s32 R, R;",
    "cvt.rn.f32.s32 R, R;",
    "set.lt.u32.s32 R, R, R;",
    "slct.b32.s32 R, R, R, R;",
    "setp.lt.s32 P, R, R;",
    "setp.eq.u32 P|P, R, R;",
    "setp.ne.and.u64 P, D, D, P;",
    "setp.ge.or.s16 P, H, H, !P;",
    "setp.gt.xor.u32 P, R, I, P;",
    "setp.le.u16 P, H, H;",
    "selp.b32 R, R, R, P;",
    "selp.b64 D, D, D, P;",
    "and.pred P, P, P;",
    "xor.pred P, P, P;",
    "not.pred P, P;",
    "vote.sync.ballot.b32 R, P, 0xff;",
    "vote.sync.any.pred P, P, 0xff;",
    "testp.normal.f32 P, R;",
    "add.rn.f32 R, R, R;",
    "add.rn.f16x2 R, R, R;",
    "fma.rn.f32x2 D, D, D, D;",
];

/// Opcodes whose instructions wait, branch, reach memory, or are reported where an operand is not known.
const ELSEWHERE: &[&str] = &[
    "ld",
    "ldu",
    "st",
    "atom",
    "red",
    "cp",
    "bar",
    "barrier",
    "membar",
    "fence",
    "bra",
    "brx",
    "call",
    "ret",
    "exit",
    "trap",
    "brkpt",
    "shfl",
    "vote",
    "match",
    "redux",
    "elect",
    "activemask",
    "griddepcontrol",
    "prefetch",
    "prefetchu",
    "discard",
    "applypriority",
    "nanosleep",
    "mapa",
    "getctarank",
    "cvta",
    "isspacep",
    "createpolicy",
    "istypep",
    "pmevent",
];

/// Any instruction of the opcode table that only computes, on registers named as the fuzzer names them.
fn any_form() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<u8>(), 40).prop_map(|bytes| {
        let forms = fuzz::generate::forms(|opcode| !ELSEWHERE.contains(&opcode));
        fuzz::generate::instruction(&mut Unstructured::new(&bytes), &forms).unwrap()
    })
}

/// An instruction with registers and numbers for its letters, in all lanes or in those of a predicate that is known.
fn instruction(templates: &'static [&'static str], guarded: bool) -> impl Strategy<Value = String> {
    let guard = if guarded { select(&["", "", "@%q ", "@!%q "][..]) } else { select(&[""][..]) };
    (select(templates), prop::collection::vec(any::<u8>(), 9), guard).prop_map(|(template, picks, guard)| {
        let mut picks = picks.into_iter().map(usize::from);
        let mut pick = |count: usize| picks.next().unwrap_or(0) % count;
        let (opcode, operands) = template.split_once(' ').unwrap();
        let words = operands.chars().map(|c| match c {
            'R' => format!("%r{}", pick(EACH)),
            'D' => format!("%rd{}", pick(EACH)),
            'H' => format!("%h{}", pick(EACH)),
            'P' => format!("%p{}", pick(PREDICATES)),
            'I' => pick(40).to_string(),
            other => other.to_string(),
        });
        let text: String = words.collect();
        // All lanes vote.
        let guard = if opcode.starts_with("vote") { "" } else { guard };
        format!("{guard}{opcode} {text}\n")
    })
}

/// Loads the inputs, runs the program, and stores each bit of every register in a byte of its own.
fn source(program: &str) -> String {
    let mut text = vec![format!(
        "{HEADER}.shared .b64 shared_variable; .global .b64 global_variable; .const .b64 const_variable;
         .entry k(.param .u64 in, .param .u64 out) {{
         .local .b64 local_variable;
         .reg .b32 %t, %r<{EACH}>, %word; .reg .b64 %in, %out, %rd<{EACH}>, %bit; .reg .b16 %h<{EACH}>;
         .reg .pred %p<{PREDICATES}>, %q;
         mov.u32 %t, %tid.x; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
         mad.wide.u32 %in, %t, {INPUTS}, %in; mad.wide.u32 %out, %t, {RESULTS}, %out; setp.lt.u32 %q, %t, 5;\n"
    )];
    let registers = [("rd", 64), ("r", 32), ("h", 16)];
    let registers = registers.into_iter().flat_map(|(letter, bits)| (0..EACH).map(move |i| (letter, i, bits)));
    let mut at = 0;
    for (letter, i, bits) in registers.clone() {
        text.push(format!("ld.global.b{bits} %{letter}{i}, [%in+{at}];\n"));
        at += bits / 8;
    }
    text.extend((0..PREDICATES).map(|i| format!("setp.lt.s32 %p{i}, %r{i}, 0;\n")));
    text.push(program.to_owned());
    let mut at = 0;
    for (letter, i, bits) in registers {
        let copy = if bits == 64 { "mov.b64".to_owned() } else { format!("cvt.u64.u{bits}") };
        for bit in 0..bits {
            text.push(format!(
                "{copy} %bit, %{letter}{i};\nbfe.u64 %bit, %bit, {bit}, 1;\nst.global.u8 [%out+{at}], %bit;\n"
            ));
            at += 1;
        }
    }
    for i in 0..PREDICATES {
        text.push(format!("selp.u32 %word, 1, 0, %p{i};\nst.global.u8 [%out+{}], %word;\n", at + i));
    }
    text.push("ret; }\n".to_owned());
    text.concat()
}

/// Bytes of a run's results, and whether each is known.
fn run(module: &Module, path: Path, inputs: &[u8], written: &[bool]) -> (Vec<u8>, Vec<bool>) {
    let mut memory = Memory::new();
    let options = AllocOptions { initialised: false, ..AllocOptions::default() };
    let address = memory.alloc("in", inputs, options).unwrap();
    for (i, _) in written.iter().enumerate().filter(|(_, w)| **w) {
        memory.write(address + i as u64, &inputs[i..=i]).unwrap();
    }
    let out = memory.alloc_scratch("out", THREADS * RESULTS).unwrap();
    let config = LaunchConfig { path, threads: 1, ..LaunchConfig::new([1; 3], [THREADS as u32, 1, 1]) };
    launch(module, "k", &mut memory, &config, &[Arg::int(address.into()), Arg::int(out.into())])
        .unwrap_or_else(|e| panic!("{e}"));
    let mut bytes = vec![0; THREADS * RESULTS];
    memory.read(out, &mut bytes).unwrap();
    let known = (0..bytes.len() as u64).map(|i| memory.unwritten(out + i, 1).unwrap() == 0);
    let known = known.collect();
    (bytes, known)
}

/// The inputs with other values in all the places that were never written.
fn with_others(inputs: &[u8], written: &[bool], others: &[u8]) -> Vec<u8> {
    inputs.iter().zip(written).zip(others).map(|((&i, &w), &o)| if w { i } else { o }).collect()
}

fn inputs() -> impl Strategy<Value = (Vec<u8>, Vec<bool>)> {
    let count = THREADS * INPUTS;
    let byte = prop_oneof![4 => any::<u8>(), 1 => Just(0), 1 => Just(0xff)];
    (prop::collection::vec(byte, count), prop::collection::vec(prop::bool::weighted(0.7), count))
}

/// Runs a program twice, with other values for what is not known and on the other path.
fn check(module: &Module, program: &str, first: &[u8], written: &[bool], others: &[u8]) {
    let second = with_others(first, written, others);
    let (a, known_a) = run(module, Path::Auto, first, written);
    let (b, known_b) = run(module, Path::Portable, &second, written);
    for i in 0..a.len() {
        assert_eq!(known_a[i], known_b[i], "bit {} of thread {} of\n{program}", i % RESULTS, i / RESULTS);
        assert!(!known_a[i] || a[i] == b[i], "bit {} of thread {} of\n{program}", i % RESULTS, i / RESULTS);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn known_bits_do_not_depend_on_unknown_ones(
        program in prop::collection::vec(prop_oneof![instruction(MOVES, true), instruction(OTHERS, true)], 1..25),
        (first, written) in inputs(),
        others in prop::collection::vec(any::<u8>(), THREADS * INPUTS),
    ) {
        let program = program.concat();
        let module = Module::parse(source(&program).as_bytes(), "random.ptx", true).unwrap_or_else(|e| panic!("{e}"));
        check(&module, &program, &first, &written, &others);
    }

    #[test]
    fn no_form_of_the_table_takes_unknown_bits_for_known(
        program in prop::collection::vec(any_form(), 1..4),
        (first, written) in inputs(),
        others in prop::collection::vec(any::<u8>(), THREADS * INPUTS),
    ) {
        let program = program.join(";\n") + ";\n";
        // Some words of a form do not go together.
        let module = Module::parse(source(&program).as_bytes(), "forms.ptx", false);
        prop_assume!(module.is_ok());
        check(&module.unwrap(), &program, &first, &written, &others);
    }

    #[test]
    fn moved_bits_are_unknown_only_where_they_come_from_unknown_ones(
        program in prop::collection::vec(instruction(MOVES, false), 1..12),
        (first, written) in inputs(),
    ) {
        let program = program.concat();
        let module = Module::parse(source(&program).as_bytes(), "moves.ptx", true).unwrap_or_else(|e| panic!("{e}"));
        let opposite: Vec<u8> = first.iter().map(|b| !b).collect();
        let second = with_others(&first, &written, &opposite);
        let (a, known) = run(&module, Path::Auto, &first, &written);
        let (b, _) = run(&module, Path::Auto, &second, &written);
        for i in 0..a.len() {
            prop_assert_eq!(known[i], a[i] == b[i], "bit {} of thread {} of\n{}", i % RESULTS, i / RESULTS, program);
        }
    }
}
