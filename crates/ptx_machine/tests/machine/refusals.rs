//! Texts that are refused: one line, with the place, the text, what is allowed, and the nearest supported form.

use ptx_machine::{MAX_SOURCE_BYTES, Module, PtxError};

use crate::harness::{HEADER, body};

fn refuse(source: impl AsRef<[u8]>) -> PtxError {
    let error = Module::parse(source.as_ref(), "bad.ptx", true).expect_err("the text is refused");
    let shown = error.to_string();
    assert!(!shown.contains('\n') && shown.len() < 600, "{shown}");
    assert!(shown.starts_with("bad.ptx"), "{shown}");
    error
}

/// Refuses one instruction in the body of a kernel.
#[track_caller]
fn refuse_line(line: &str, message: &str, nearest: Option<&str>) {
    let error = refuse(body(&format!("\n{line}")));
    assert!(error.message.contains(message), "{error}");
    assert_eq!(error.nearest.as_deref(), nearest, "{error}");
    assert!(line.starts_with(error.text.trim_end_matches('…')), "{error}");
    assert_eq!(error.line, 13, "{error}");
}

#[test]
fn unknown_opcodes_modifiers_and_types_name_the_nearest_form() {
    refuse_line("fmma.rn.f32 %f1, %f1, %f1, %f1;", "opcode fmma is not supported", Some("fma.rn.f32"));
    refuse_line("fma.rx.f32 %f1, %f1, %f1, %f1;", "fma.rx.f32 is no supported form of fma", Some("fma.rn.f32"));
    refuse_line("fma.f32 %f1, %f1, %f1, %f1;", "no supported form", Some("fma.rn.f32"));
    refuse_line("mul.wide.u64 %rd1, %rd1, %rd1;", "no supported form", Some("mul.wide.u16"));
    refuse_line("ld.global.v3.f32 %f1, [%at];", "no supported form", Some("ld.global.f32"));
    refuse_line("shfl.idx.b32 %r1, %r1, %r1, %r1;", "allowed: the form with .sync", Some("shfl.sync.idx.b32"));
    refuse_line("setp.zz.f32 %p1, %f1, %f1;", "no supported form", Some("setp.eq.f32"));
    refuse_line("tex.2d.v4.f32.f32 %r1, [%at];", "tex is not supported: there are no textures", None);
    refuse_line("mma.sync.aligned.m8n8k4.f32 %r1, [%at];", "a tensor core's sums are not defined", None);
    refuse_line("qqqqqqqqqqq %r1;", "opcode qqqqqqqqqqq is not supported", None);
}

#[test]
fn forms_without_an_exact_definition_are_refused_in_strict_mode_only() {
    for (line, nearest) in [
        ("add.f32 %f1, %f1, %f1;", "add.rn.f32"),
        ("sub.f32 %f1, %f1, %f1;", "sub.rn.f32"),
        ("mul.ftz.f32 %f1, %f1, %f1;", "mul.rn.ftz.f32"),
        ("div.full.f32 %f1, %f1, %f1;", "div.rn.f32"),
        ("sqrt.approx.f32 %f1, %f1;", "sqrt.rn.f32"),
    ] {
        refuse_line(line, "is refused in strict mode", Some(nearest));
        assert!(Module::parse(body(line).as_bytes(), "lax", false).is_ok(), "{line}");
    }
    for opcode in ["ex2", "lg2", "sin", "cos", "rsqrt", "rcp", "tanh"] {
        let error = refuse(body(&format!("{opcode}.approx.f32 %f1, %f1;")));
        assert!(error.message.contains("an approximation has no exact result"), "{error}");
    }
}

#[test]
fn operands_that_do_not_fit() {
    refuse_line(
        "add.u32 %r1, %rd1, %r2;",
        "operand 2 does not fit; allowed: a register that fits .u32, or a .u32 number",
        None,
    );
    refuse_line("add.rn.f32 %rd1, %f1, %f1;", "operand 1 does not fit; allowed: a register that fits .f32", None);
    refuse_line("add.u32 %r1, %r1, %r2, %r3;", "operand 4 does not fit; allowed: 3 operands", None);
    refuse_line(
        "add.u32 %r1, %r1;",
        "operand 3 is missing; allowed: a register that fits .u32, or a .u32 number",
        None,
    );
    refuse_line("add.u32;", "operand 1 is missing; allowed: a register that fits .u32", None);
    refuse_line("bra;", "operand 1 is missing; allowed: a label", None);
    let policy = "operand 3 is missing; allowed: a register that fits .b64";
    refuse_line("ld.global.L2::cache_hint.u32 %r1, [%at];", policy, None);
    refuse_line("add.u32 %r1, %r1, 0x100000000;", "operand 3 does not fit", None);
    refuse_line("add.rn.f32 %f1, %f1, 1;", "operand 3 does not fit", None);
    refuse_line("setp.eq.u32 %r1, %r1, %r2;", "operand 1 does not fit; allowed: a predicate register", None);
    refuse_line("mov.pred %p1, 0f3F800000;", "operand 2 does not fit; allowed: a predicate register", None);
    refuse_line("mov.pred 0, %p1;", "operand 1 does not fit", None);
    refuse_line("ld.global.v2.u32 {%r1, %r2, %r3}, [%at];", "{ } of 2 registers", None);
    refuse_line("ld.global.u32 %r1, [%r2];", "[ ] of an address register or a .global variable", None);
    refuse_line("ld.global.u32 %r1, [p];", "operand 2 does not fit", None);
    refuse_line("st.global.u64 [%at], %r1;", "operand 2 does not fit", None);
    refuse_line("mov.u64 %rd1, %tid.x;", "operand 2 does not fit", None);
    refuse_line("lop3.b32 %r1, %r1, %r1, %r1, 256;", "its table is no number from 0 to 255", None);
    refuse_line("cvt.sat.s32.s16 %r1, %r2;", "holds every .s16", None);
}

#[test]
fn names_and_labels() {
    refuse_line("add.u32 %r1, %x, 1;", "%x is not declared", None);
    refuse_line("add.u32 %r1, %r30, 1;", "%r30 is not declared", None);
    refuse_line("mov.u32 %r1, %tid.w;", "%tid.w is not declared, and no special register", Some("%tid.x"));
    refuse_line("@%r1 bra END;", "%r1 is no predicate register", None);
    let error = refuse(body("bra NOWHERE;"));
    assert_eq!((error.text.as_str(), error.line), ("NOWHERE", 12));
    assert!(error.message.contains("label NOWHERE is not defined"));
    assert!(refuse(body("A: A: ret;")).message.contains("label A is defined twice"));
    assert!(refuse(body(".reg .u32 %q; .reg .u32 %q;")).message.contains("%q is declared twice"));
    assert!(refuse(body(".reg .u32 %tid;")).message.contains("%tid hides the special register %tid.x"));
    assert!(refuse(body("{ { bra IN; } } { IN: ret; }")).message.contains("label IN is not defined"));
}

#[test]
fn versions_and_architectures() {
    let text = |version: &str, target: &str, line: &str| {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ .reg .b64 %a; .reg .f32 %f; .reg .b32 %r;\n{line}\nret; }}"
        )
    };
    let packed = "fma.rn.f32x2 %a, %a, %a, %a;";
    let error = refuse(text("8.8", "sm_90", packed));
    assert_eq!(error.message, "fma.rn.f32x2 needs .target sm_100 or later, not sm_90");
    assert_eq!(error.line, 5);
    let error = refuse(text("8.6", "sm_100", "max.f32 %f, %f, %f, %f;"));
    assert_eq!(error.message, "max.f32 needs .version 8.8 or later, not 8.6");
    let error = refuse(text("6.4", "sm_75", "max.NaN.f32 %f, %f, %f;"));
    assert_eq!(error.message, "max.NaN.f32 needs .version 7.0 or later, not 6.4");
    let error = refuse(text("7.0", "sm_120", packed));
    assert_eq!(error.message, "target sm_120 needs .version 8.7 or later, not 7.0");
    let error = refuse(text("8.0", "sm_91", packed));
    assert!(error.message.starts_with("target sm_91 is not known; allowed: sm_10, "), "{error}");
    let error = refuse(text("9.0", "sm_89a", packed));
    assert!(error.message.starts_with("target sm_89a is not known"), "{error}");
    let error = refuse(text("5.0", "sm_50", "activemask.b32 %r;"));
    assert!(error.message.contains("needs .version 6.2"), "{error}");
    assert!(Module::parse(text("8.8", "sm_120a", packed).as_bytes(), "ok", true).is_ok());
}

#[test]
fn heads_of_modules() {
    for (text, message) in [
        ("", "the source is empty"),
        (" \n\n", "the source is empty"),
        ("hello", "hello is not expected here; allowed: .version"),
        (".version 99.0\n.target sm_90", "PTX version 99.0 is not supported"),
        (".version 8.5\n.target x86", "target x86 is not supported; allowed: sm_NN"),
        (".version 8.5\n.target sm_90\n.address_size 32", "this .address_size is not supported; allowed: 64"),
        (".version 8.5\n.target sm_90\n.func f() { fma.f32 %f1, %f1, %f1, %f1; }", "%f1 is not declared"),
        (
            ".version 8.5\n.target sm_90\n.func f()\n{\n.reg .f32 %f; fma.f32 %f, %f, %f, %f; }",
            "no supported form of fma",
        ),
        (".version 8.5\n.target sm_90\n.func f(.reg .b32 %a)\n{ ret; }", "a .reg parameter is not supported"),
        (".version 8.5\n.target sm_90\n.extern .global .u32 x;", "x has no definition"),
        (".version 8.5\n.target sm_90\n.shared .b8 x[300000];", "x of 300000 bytes is too large"),
        (".version 8.5\n.target sm_90\n.global .u32 x[2] = {1, 2, 3};", "x of 12 bytes is too large; allowed: 8 bytes"),
        (
            ".version 8.5\n.target sm_90\n.entry k() { .shared .b8 x[200000]; .shared .b8 y[40000]; ret; }",
            "240000 bytes of shared variables are too many; allowed: 49152 bytes",
        ),
        (
            ".version 8.5\n.target sm_90\n.entry k() { .local .b8 x[500000]; .local .b8 y[30000]; ret; }",
            "530000 bytes of local variables are too many; allowed: 524288 bytes",
        ),
        (
            ".version 8.5\n.target sm_90\n.global .b8 x[1000000000];\n.global .b8 y[1000000000];",
            "2000000000 bytes of global variables are too many; allowed: 1073741824 bytes",
        ),
        (
            ".version 8.5\n.target sm_90\n.const .b8 x[40000];\n.const .b8 y[40000];",
            "80000 bytes of const variables are too many; allowed: 65536 bytes",
        ),
        (".version 8.5\n.target sm_90\n.shared .align 3 .b8 x[4];", "alignment 3 is not allowed"),
        (
            ".version 8.5\n.target sm_90\n.entry k(.param .u64 a, .param .u64 a) { ret; }",
            "parameter a is declared twice",
        ),
        (".version 8.5\n.target sm_90\n.entry k() { ret; } .entry k() { ret; }", "k is declared twice"),
        (".version 8.5\n.target sm_90\n/* no end", "a comment that starts with /* is not ended"),
        (".version 8.5\n.target sm_90\n.pragma \"nounroll;", "a string is not ended on its line"),
        (
            ".version 8.5\n.target sm_90\n.entry k() { .reg .u32 %r<9999999>; }",
            "number of registers 9999999 is not allowed",
        ),
        (
            ".version 8.5\n.target sm_90\n.entry k() .maxntid 2000 { ret; }",
            "number of threads 2000 is not allowed; allowed: 1 to 1024",
        ),
    ] {
        let error = refuse(text);
        assert!(error.message.contains(message), "{error}");
    }
}

#[test]
fn truncated_binary_and_huge_files() {
    let whole = body("@%p1 ld.global.v2.u32 {%r1, %r2}, [%at+8];\nA: bra A;\n.shared .u32 x[4];");
    let whole = whole.trim_end();
    // Before its first entry a text may end anywhere behind its head.
    for end in whole.find("entry").unwrap()..whole.len() {
        let error = Module::parse(&whole.as_bytes()[..end], "cut.ptx", true).expect_err("a truncated text is refused");
        assert!(!error.to_string().contains('\n'));
    }
    let elf = [&b"\x7fELF\x02\x01\x01\0"[..], &[0u8; 64], &[0xff, 0xfe]].concat();
    let error = refuse(&elf);
    assert!(error.message.contains("is not UTF-8; allowed: PTX text"), "{error}");
    assert!(refuse(&elf[..40]).message.contains("is no character of PTX"));
    let huge = vec![b' '; 50 << 20];
    let error = refuse(&huge);
    assert_eq!(error.message, format!("the source has {} bytes; allowed: up to {MAX_SOURCE_BYTES}", 50 << 20));
    let error = refuse(format!("{HEADER}.entry k() {{ {} }}", "{".repeat(1000)));
    assert!(error.message.contains("nested too deeply"), "{error}");
}

#[test]
fn a_large_text_is_read_in_time() {
    let line = "fma.rn.f32 %f1, %f2, %f3, %f1;\n";
    let text = body(&line.repeat(100_000));
    let start = std::time::Instant::now();
    assert!(Module::parse(text.as_bytes(), "large", true).is_ok());
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn names_of_any_length_are_shortened() {
    let name = "a".repeat(1 << 20);
    for line in [format!("mov.u32 %{name}, 1;"), format!("{name} %r1;"), format!("bra {name};"), "-".repeat(1 << 20)] {
        refuse(body(&line));
    }
    refuse(body(&format!("mov.u32 %r1, {};", "9".repeat(1 << 20))));
}
