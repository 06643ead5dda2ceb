//! Calls of `.func`, their parameters and results, returns in divergent code, and indexed branches.

use ptx_machine::{FaultKind, Module};

use crate::harness::{HEADER, Kernel, body};

/// A kernel behind functions: `%t` is the thread, `%at` its word of the buffer.
fn kernel(functions: &str, text: &str) -> Kernel {
    Kernel::new(&source(functions, text), 1, 32)
}

fn source(functions: &str, text: &str) -> String {
    body(text).replace(HEADER, &format!("{HEADER}{functions}\n"))
}

fn refusal(functions: &str, text: &str) -> String {
    Module::parse(source(functions, text).as_bytes(), "bad.ptx", true).expect_err("it is refused").to_string()
}

fn results(functions: &str, text: &str) -> Vec<u32> {
    let mut kernel = kernel(functions, text);
    let out = kernel.unwritten("out", 32);
    kernel.run(&[out]);
    kernel.read(out, 32)
}

const ADD: &str = ".func (.param .b32 r) add(.param .b32 a, .param .b32 b)\n{ .reg .b32 %x, %y; ld.param.u32 %x, [a];\n\
    ld.param.u32 %y, [b]; add.u32 %x, %x, %y; st.param.b32 [r+0], %x; ret; }";

#[test]
fn arguments_are_variables_registers_and_numbers() {
    let by_variable = "{ .param .b32 p0; .param .b32 p1; .param .b32 back; st.param.b32 [p0], %t; st.param.b32 [p1+0], 5;\n\
        call.uni (back), add, (p0, p1); ld.param.b32 %r1, [back]; }\nst.global.u32 [%at], %r1;";
    assert_eq!(results(ADD, by_variable), (5..37).collect::<Vec<_>>());
    let by_register = "call (%r1), add, (%t, 7); call (%r1), add, (%r1, %r1); st.global.u32 [%at], %r1;";
    assert_eq!(results(ADD, by_register), (0..32).map(|t| 2 * (t + 7)).collect::<Vec<_>>());
}

#[test]
fn structs_are_copied_by_value() {
    // Twelve bytes, of which the function changes its own copy.
    let function = ".func (.param .align 4 .b8 r[12]) turn(.param .align 4 .b8 s[12])\n{ .reg .b32 %x<3>; .reg .b64 %p;\n\
        mov.b64 %p, s; ld.param.u32 %x0, [s]; ld.param.u32 %x1, [%p+4]; ld.param.u32 %x2, [s+8];\n\
        st.param.b32 [r], %x1; st.param.b32 [r+4], %x2; st.param.b32 [r+8], %x0; st.local.u32 [%p], 99; }";
    let text = "{ .param .align 4 .b8 s[12]; .param .align 4 .b8 r[12]; st.param.b32 [s], %t; st.param.b32 [s+4], 100;\n\
        st.param.b32 [s+8], 200; call (r), turn, (s); ld.param.b32 %r1, [r]; ld.param.b32 %r2, [r+8];\n\
        ld.param.b32 %r3, [s]; }\nmad.lo.u32 %r4, %r2, 1000, %r1; add.u32 %r4, %r4, %r3; st.global.u32 [%at], %r4;";
    assert_eq!(results(function, text), (0..32).map(|t| 1000 * t + 100 + t).collect::<Vec<_>>());
}

#[test]
fn lanes_return_at_their_own_time_and_meet_behind_the_call() {
    // The number of steps to 1, each lane's own; then all lanes vote.
    let steps = ".func (.param .b32 r) steps(.param .b32 n)\n{ .reg .b32 %n, %c, %odd; .reg .pred %p; ld.param.u32 %n, [n];\n\
        mov.u32 %c, 0; LOOP: st.param.b32 [r], %c; setp.le.u32 %p, %n, 1; @%p ret; add.u32 %c, %c, 1;\n\
        and.b32 %odd, %n, 1; setp.eq.u32 %p, %odd, 1; @%p bra ODD; shr.u32 %n, %n, 1; bra LOOP;\n\
        ODD: mad.lo.u32 %n, %n, 3, 1; bra LOOP; }";
    let text = "setp.gt.u32 %p1, %t, 3; mov.u32 %r1, 1000; @%p1 call (%r1), steps, (%t);\n\
        vote.sync.ballot.b32 %r2, %p1, 0xffffffff; setp.ne.u32 %p2, %r2, 0xfffffff0; @%p2 trap;\n\
        st.global.u32 [%at], %r1;";
    let count = |mut n: u32| {
        let mut c = 0;
        while n > 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            c += 1;
        }
        c
    };
    let want: Vec<u32> = (0..32).map(|t| if t > 3 { count(t) } else { 1000 }).collect();
    assert_eq!(results(steps, text), want);
}

#[test]
fn calls_nest_in_divergent_code() {
    let outer = format!(
        "{ADD}\n.func (.param .b32 r) twice(.param .b32 a)\n{{ .reg .b32 %x, %y; .reg .pred %p; ld.param.u32 %x, [a];\n\
         setp.lt.u32 %p, %x, 16; @%p bra LOW; call (%y), add, (%x, %x); st.param.b32 [r], %y; ret;\n\
         LOW: call (%y), add, (%x, 1000); st.param.b32 [r], %y; }}"
    );
    let want: Vec<u32> = (0..32).map(|t| if t < 16 { t + 1000 } else { 2 * t }).collect();
    assert_eq!(results(&outer, "call (%r1), twice, (%t); st.global.u32 [%at], %r1;"), want);
    // A function ends the thread for some lanes.
    let end = ".func stop(.param .b32 n)\n{ .reg .b32 %n; .reg .pred %p; ld.param.u32 %n, [n]; setp.lt.u32 %p, %n, 8; @%p exit; }";
    let mut kernel = kernel(end, "call stop, (%t); st.global.u32 [%at], %t;");
    let out = kernel.unwritten("out", 32);
    kernel.run(&[out]);
    assert_eq!(kernel.memory.unwritten(out, 128).unwrap(), 32);
}

#[test]
fn functions_have_memory_of_their_own() {
    let function = ".shared .b32 slot[32];\n.func fill(.param .b32 n)\n{ .local .b32 own[4]; .reg .b32 %n, %a; .reg .b64 %p;\n\
        ld.param.u32 %n, [n]; mov.u64 %p, own; st.local.u32 [%p+8], %n; ld.local.u32 %a, [own+8];\n\
        mul.lo.u32 %n, %n, 4; mov.u64 %p, slot; cvt.u64.u32 %p, %n; add.u64 %p, %p, slot; st.shared.u32 [%p], %a; }";
    let function = function.replace("add.u64 %p, %p, slot;", "{ .reg .b64 %q; mov.u64 %q, slot; add.u64 %p, %p, %q; }");
    let text = "call fill, (%t); bar.sync 0; mul.lo.u32 %r1, %t, 4; cvt.u64.u32 %rd1, %r1; mov.u64 %rd2, slot;\n\
        add.u64 %rd1, %rd1, %rd2; ld.shared.u32 %r2, [%rd1]; st.global.u32 [%at], %r2;";
    assert_eq!(results(&function, text), (0..32).collect::<Vec<_>>());
}

#[test]
fn a_result_that_was_not_written_is_no_value() {
    let mut kernel = kernel(".func (.param .b32 r) none()\n{ ret; }", "call (%r1), none; st.global.u32 [%at], %r1;");
    let out = kernel.unwritten("out", 32);
    assert_eq!(kernel.fault(&[out]).kind, FaultKind::UninitialisedStore);
}

#[test]
fn calls_that_are_refused() {
    let twice = ".func g;\n.func f\n{ call g; }\n.func g\n{ call f; }";
    assert!(refusal(twice, "call f;").contains("the call of f is recursive"));
    let vprintf = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);";
    assert!(refusal(vprintf, "call (%r1), vprintf, (%rd1, %rd2);").contains("vprintf has no body in this module"));
    assert!(refusal(ADD, "call (%r1), add, (%t);").contains("add has 2 arguments, not 1"));
    assert!(refusal(ADD, "call add, (%t, %t);").contains("add has 1 results, not 0"));
    assert!(refusal(ADD, "call (%r1), add, (%t, %rd1);").contains("an argument does not fit b"));
    assert!(refusal("", "call missing;").contains("missing is no function that is declared before"));
    assert!(refusal("", "call (%r1), %rd1, (%r1), proto;").contains("%rd1 is no function"));
    assert!(refusal("", "proto: .callprototype _ (.param .b32 _);").contains("indirect calls are not supported"));
    assert!(refusal(ADD, "st.param.b32 [p], %t;").contains("the parameters of a kernel are read-only"));
    assert!(
        refusal(".func f(.param .b32 a)\n{ ret; }\n.func f(.param .b32 a)\n{ ret; }", "")
            .contains("f is defined twice")
    );
    assert!(refusal(".func f(.param .b32 a);\n.func f\n{ ret; }", "").contains("with other parameters or results"));
}

#[test]
fn indexed_branches_part_lanes_by_their_index() {
    let text = "and.b32 %r1, %t, 3; rem.u32 %r2, %t, 5; setp.ne.u32 %p1, %r2, 4; mov.u32 %r3, 40;\n\
        list: .branchtargets A, B, C, A;\n@%p1 brx.idx %r1, list; bra DONE;\n\
        A: mov.u32 %r3, 10; bra DONE;\nB: mov.u32 %r3, 20; bra.uni DONE;\nC: mov.u32 %r3, 30;\n\
        DONE: vote.sync.ballot.b32 %r4, %p1, 0xffffffff; setp.eq.u32 %p2, %r4, 0; @%p2 trap; st.global.u32 [%at], %r3;";
    let want = |t: u32| if t % 5 == 4 { 40 } else { [10, 20, 30, 10][t as usize % 4] };
    assert_eq!(results("", text), (0..32).map(want).collect::<Vec<_>>());
    let uniform = "list: .branchtargets A, B;\nbrx.idx.uni 1, list;\nA: mov.u32 %r1, 1; bra E;\nB: mov.u32 %r1, 2;\nE: st.global.u32 [%at], %r1;";
    assert_eq!(results("", uniform), vec![2; 32]);
    let mut past = kernel("", "list: .branchtargets A, A;\nbrx.idx %t, list;\nA: st.global.u32 [%at], %t;");
    let out = past.unwritten("out", 32);
    let fault = past.fault(&[out]);
    assert_eq!((fault.kind, fault.lane), (FaultKind::BadOperand, Some(2)));
    let mut unknown = kernel("", "list: .branchtargets A, A;\nbrx.idx %r9, list;\nA: ret;");
    assert_eq!(unknown.fault(&[0]).kind, FaultKind::UninitialisedPredicate);
}

#[test]
fn a_function_knows_nothing_of_its_earlier_calls() {
    // The second call finds what the first one left, in a register, in a variable, and as its result.
    let kinds = [
        (".reg .b32 %x; @%first mov.u32 %x, 5;", "st.param.b32 [r], %x;"),
        (".local .b32 x; .reg .b32 %x; @%first st.local.u32 [x], 5; ld.local.u32 %x, [x];", "st.param.b32 [r], %x;"),
        ("", "@%first st.param.b32 [r], 5;"),
        (".reg .pred %q; @%first setp.eq.u32 %q, %n, 0; .reg .b32 %x;", "selp.b32 %x, 5, 6, %q; st.param.b32 [r], %x;"),
    ];
    for (before, after) in kinds {
        let function = format!(
            ".func (.param .b32 r) keep(.param .b32 n)\n{{ .reg .b32 %n; .reg .pred %first; ld.param.u32 %n, [n];\n\
             setp.eq.u32 %first, %n, 0; {before} {after} }}"
        );
        let once = "call (%r1), keep, (0); st.global.u32 [%at], %r1;";
        assert_eq!(results(&function, once), [5; 32]);
        let twice = format!("{once} call (%r1), keep, (1); st.global.u32 [%at], %r1;");
        let mut kernel = kernel(&function, &twice);
        let out = kernel.unwritten("out", 32);
        let fault = kernel.fault(&[out]);
        assert_eq!((fault.kind, fault.lane), (FaultKind::UninitialisedStore, Some(0)), "{before} {after}: {fault}");
        // Lanes that do not call keep theirs.
        let some = "setp.lt.u32 %p1, %t, 9; mov.u32 %r1, 5; @%p1 call (%r1), keep, (0); st.global.u32 [%at], %r1;";
        assert_eq!(results(&function, some), [5; 32]);
    }
}
