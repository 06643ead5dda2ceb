//! Properties: no text makes the machine panic or hang, and the two paths agree on every number.

use proptest::prelude::*;
use ptx_machine::{AllocOptions, Arg, LaunchConfig, Memory, Module, Path, launch};

use crate::harness::{HEADER, body};

/// Pieces of PTX, good and bad, from which texts are strung together.
const PIECES: &[&str] = &[
    ".version 8.5\n.target sm_90\n.address_size 64\n",
    ".entry k(.param .u64 p) {",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    ".reg .b32 %r<9>;",
    ".reg .pred %p<4>;",
    ".reg .f32 %f;",
    ".shared .align 16 .b8 s[64];",
    ".extern .shared .b8 d[];",
    "L: ",
    "bra L;",
    "@%p1 ",
    "@!%p1 bra L;",
    "mov.u32 %r1, %tid.x;",
    "mov.u32 %r1, ",
    "%r1",
    "%r2, ",
    "%r99999999999999999999",
    "add.u32 %r1, %r2, 3;",
    "ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [s+",
    "st.shared.u32 [s], %r1;",
    "bar.sync 0;",
    "ret;",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
    "0x",
    "0f3f800000",
    "0f",
    "1e",
    "1.5e+",
    "-",
    "~",
    "18446744073709551616",
    ".const .u32 t[2] = {1, {2}};",
    ".global .f32 g = 0d0;",
    "/*",
    "*/",
    "//",
    "\"",
    "é",
    "\0",
    "\n",
    " ",
    "WARP_SZ",
    "_",
    "|",
    "!",
    ".loc 1 2 3",
    ".pragma \"x\";",
    ".file 1 \"a\"",
    "setp.lt.and.u32 %p1|%p2, %r1, %r2, !%p3;",
    "trap;",
    "exit;",
    "fma.rn.f32",
];

fn valid() -> String {
    body(
        ".shared .align 16 .b8 tile[512];
         mov.u32 %r1, tile;
         setp.lt.u32 %p1, %t, 7;
         @%p1 bra LOW;
         mul.wide.u32 %rd1, %t, 8;
         LOW: fma.rn.f32 %f1, 0f3f800000, 0f40000000, 0f00000000;
         shfl.sync.bfly.b32 %r2|%p2, %t, 4, 31, 0xffffffff;
         st.shared.v2.u32 [%r1+8], {%r2, 5};
         bar.sync 0;
         ld.shared.v2.f32 {%f2, %f3}, [tile+8];
         cvt.rn.f16.f32 %r3, %f2;",
    )
    .replace("cvt.rn.f16.f32 %r3", ".reg .b16 %h; cvt.rn.f16.f32 %h")
}

/// Runs whatever is accepted, with limits.
fn try_everything(source: &[u8]) {
    for strict in [true, false] {
        let module = match Module::parse(source, "any", strict) {
            Ok(module) => module,
            Err(error) => {
                assert!(!error.to_string().contains('\n'));
                continue;
            }
        };
        for entry in module.entries() {
            let mut memory = Memory::new();
            let data = memory.alloc("data", &[0; 256], AllocOptions::default()).unwrap();
            let args: Vec<_> = entry.params.iter().map(|_| Arg::int(data.into())).collect();
            let config =
                LaunchConfig { step_limit: Some(20_000), threads: 1, ..LaunchConfig::new([2, 1, 1], [40, 1, 1]) };
            if let Err(error) = launch(&module, &entry.name, &mut memory, &config, &args) {
                assert!(!error.to_string().contains('\n'));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strung_together_pieces_never_panic(picks in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        try_everything(picks.concat().as_bytes());
        try_everything(format!("{HEADER}.entry k(.param .u64 p) {{.reg .b32 %r<9>; .reg .pred %p<4>;\n{}ret;}}", picks.concat()).as_bytes());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        try_everything(&bytes);
        try_everything(&[HEADER.as_bytes(), &bytes].concat());
    }

    #[test]
    fn mutated_kernels_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..5, any::<u8>(), prop::sample::select(PIECES)), 1..6)) {
        let mut text = valid().into_bytes();
        for (at, kind, byte, piece) in edits {
            let at = at.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                2 => text.insert(at, byte & 0x7f),
                3 => drop(text.splice(at..at, piece.bytes())),
                _ => {
                    let end = (at + usize::from(byte)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
            }
        }
        try_everything(&text);
    }

    #[test]
    fn both_paths_give_the_same_bits(words in prop::collection::vec(any::<[u32; 3]>(), 32), narrow in any::<[u32; 3]>()) {
        let text = body(
            "mad.wide.u32 %rd1, %t, 12, %base;
             ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8];
             fma.rn.f32 %f4, %f1, %f2, %f3;
             fma.rz.f32 %f5, %f1, %f2, %f3;
             div.rn.f32 %f6, %f1, %f2;
             mul.rn.f32 %f7, %f3, %f2;
             st.global.f32 [%rd1], %f4; st.global.f32 [%rd1+4], %f5; st.global.f32 [%rd1+8], %f7;",
        );
        let module = Module::parse(text.as_bytes(), "paths", true).unwrap_or_else(|e| panic!("{e}"));
        let mut words = words.concat();
        // Close exponents, so that cancellation and halfway cases are common.
        for (word, bits) in words.iter_mut().zip(narrow.iter().cycle()) {
            if bits & 1 == 1 { *word = *word & 0x80ff_ffff | 0x3f00_0000; }
        }
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let run = |path| {
            let mut memory = Memory::new();
            let data = memory.alloc("data", &bytes, AllocOptions::default()).unwrap();
            let config = LaunchConfig { path, threads: 1, ..LaunchConfig::new([1; 3], [32, 1, 1]) };
            launch(&module, "k", &mut memory, &config, &[Arg::int(data.into())]).unwrap();
            let mut out = vec![0; bytes.len()];
            memory.read(data, &mut out).unwrap();
            out
        };
        prop_assert_eq!(run(Path::Auto), run(Path::Portable));
    }
}
