//! State spaces, vectors, widths, initial values, arguments.

use ptx_machine::{AllocOptions, Arg, LaunchConfig, Memory, Module, launch};

use crate::harness::{HEADER, Kernel, body};

#[test]
fn vectors_and_widths() {
    let text = body(
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%base];
         ld.global.v2.b64 {%rd1, %rd2}, [%base+16];
         ld.global.u8 %r5, [%base+5];
         ld.global.s8 %r6, [%base+7];
         ld.global.nc.u16 %r7, [%base+6];
         ld.global.s16 %rd3, [%base+6];
         st.global.v2.b64 [%base+32], {%rd2, %rd1};
         st.global.v4.b32 [%base+48], {%r4, %r3, %r2, %r1};
         st.global.v2.u32 [%base+64], {%r5, %r6};
         st.global.u32 [%base+72], %r7;
         st.global.u64 [%base+80], %rd3;
         st.global.u8 [%base+76], %r2;
         st.global.b16 [%base+78], %r3;",
    );
    let mut kernel = Kernel::new(&text, 1, 1);
    let input = [0x0403_0201, 0x8877_6655, 3, 4, 5, 6, 7, 8];
    let data = kernel.words("data", &[&input[..], &[0; 14]].concat());
    kernel.run(&[data]);
    let out = kernel.read(data, 22);
    assert_eq!(&out[8..12], &[7, 8, 5, 6]);
    assert_eq!(&out[12..16], &[4, 3, 0x8877_6655, 0x0403_0201]);
    assert_eq!(&out[16..18], &[0x66, 0xffff_ff88]);
    assert_eq!((out[18], out[19]), (0x8877, 0x0003_0055));
    assert_eq!(&out[20..22], &[0xffff_8877, 0xffff_ffff]);
}

#[test]
fn caching_and_ordering_words_do_not_change_values() {
    let loads =
        ["ld.global.ca", "ld.global.nc.L1::no_allocate.L2::128B", "ld.volatile.global", "ld.relaxed.gpu.global", "ld"];
    for load in loads {
        for store in ["st.global.cs", "st.global.L1::no_allocate", "st.volatile.global", "st.release.sys.global", "st"]
        {
            let text = body(&format!(
                "{load}.u32 %r1, [%at+128];\nadd.u32 %r1, %r1, 1;\n{store}.u32 [%at], %r1;\nfence.acq_rel.gpu;"
            ));
            let mut kernel = Kernel::new(&text, 1, 32);
            let data = kernel.words("data", &(0..64).collect::<Vec<_>>());
            kernel.run(&[data]);
            assert_eq!(kernel.read(data, 32), (33..65).collect::<Vec<_>>(), "{load} {store}");
        }
    }
}

#[test]
fn generic_addresses_lead_to_every_space() {
    let text = format!(
        "{HEADER}.const .u32 table[4] = {{10, 20, 30, 40}};
         .global .u32 counter = 5;
         .entry k(.param .u64 p) {{
         .shared .u32 shared_word; .local .u32 local_words[2];
         .reg .u32 %r<10>; .reg .u64 %rd<20>; .reg .pred %p<6>;
         ld.param.u64 %rd0, [p];
         mov.u64 %rd1, shared_word;
         cvta.shared.u64 %rd2, %rd1;
         mov.u32 %r1, 111; st.u32 [%rd2], %r1; ld.shared.u32 %r2, [shared_word];
         cvta.local.u64 %rd3, local_words;
         mov.u32 %r3, 222; st.u32 [%rd3+4], %r3; ld.local.u32 %r4, [local_words+4];
         mov.u64 %rd4, table; cvta.const.u64 %rd5, %rd4; ld.u32 %r5, [%rd5+8];
         cvta.global.u64 %rd6, counter; ld.u32 %r6, [%rd6];
         mov.u64 %rd8, counter; ld.global.u32 %r8, [%rd8];
         cvta.to.shared.u64 %rd7, %rd2; ld.shared.u32 %r7, [%rd7];
         add.u32 %r6, %r6, %r8; add.u32 %r6, %r6, %r7;
         st.global.v4.u32 [%rd0], {{%r2, %r4, %r5, %r6}};
         isspacep.shared %p0, %rd2; isspacep.global %p1, %rd2; isspacep.local %p2, %rd3; isspacep.global %p3, %rd0;
         selp.u32 %r1, 1, 0, %p0; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 1, 0, %p3;
         st.global.v4.u32 [%rd0+16], {{%r1, %r2, %r3, %r4}};
         ret; }}"
    );
    let mut kernel = Kernel::new(&text, 1, 1);
    let out = kernel.unwritten("out", 8);
    kernel.run(&[out]);
    assert_eq!(kernel.read(out, 8), [111, 222, 30, 121, 1, 0, 1, 1]);
}

#[test]
fn local_memory_belongs_to_a_lane_and_shared_to_a_block() {
    let text = format!(
        "{HEADER}.extern .shared .align 16 .b8 pool[];
         .entry k(.param .u64 p) {{
         .local .align 8 .b8 stack[16];
         .reg .u32 %t, %b, %i, %r<10>; .reg .u64 %rd<9>; .reg .pred %p<3>;
         mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %i, %ntid.x;
         mad.lo.u32 %i, %b, %i, %t;
         mov.u64 %rd1, stack;
         st.local.u32 [%rd1+8], %i;
         mov.u32 %r2, pool; mad.lo.u32 %r2, %t, 4, %r2;
         st.shared.u32 [%r2], %i;
         bar.sync 0;
         ld.local.u32 %r3, [%rd1+8];
         xor.b32 %r4, %t, 33; mov.u32 %r5, pool; mad.lo.u32 %r4, %r4, 4, %r5;
         ld.shared.u32 %r4, [%r4];
         ld.param.u64 %rd2, [p]; mad.wide.u32 %rd2, %i, 8, %rd2;
         st.global.v2.u32 [%rd2], {{%r3, %r4}};
         ret; }}"
    );
    let mut kernel = Kernel::new(&text, 3, 64);
    kernel.config.dynamic_shared = 256;
    let out = kernel.unwritten("out", 2 * 3 * 64);
    kernel.run(&[out]);
    let entry = kernel.module().entry("k").unwrap();
    assert!(entry.uses_dynamic_shared);
    assert_eq!((entry.static_shared_bytes, entry.local_bytes), (0, 16));
    let expected = (0..192u32).flat_map(|i| [i, i / 64 * 64 + ((i % 64) ^ 0x21)]);
    assert_eq!(kernel.read(out, 384), expected.collect::<Vec<_>>());
}

#[test]
fn module_variables_live_as_long_as_the_memory() {
    let text = format!(
        "{HEADER}.global .u32 counter = 40;
         .entry k(.param .u64 p) {{ .reg .u32 %r; .reg .u64 %rd;
         ld.global.u32 %r, [counter]; add.u32 %r, %r, 1; st.global.u32 [counter], %r;
         ld.param.u64 %rd, [p]; st.global.u32 [%rd], %r; ret; }}"
    );
    let mut kernel = Kernel::new(&text, 1, 1);
    let out = kernel.unwritten("out", 1);
    kernel.run(&[out]);
    kernel.run(&[out]);
    assert_eq!(kernel.read(out, 1), [42]);
    kernel.memory = Memory::new();
    let out = kernel.unwritten("out", 1);
    kernel.run(&[out]);
    assert_eq!(kernel.read(out, 1), [41]);
}

#[test]
fn asynchronous_copies_arrive_when_waited_for() {
    let text = format!(
        "{HEADER}.entry k(.param .u64 p) {{
         .shared .align 16 .b8 tile[1024];
         .reg .u32 %t, %s, %r<9>; .reg .u64 %rd<5>;
         mov.u32 %t, %tid.x; mov.u32 %s, tile; mad.lo.u32 %s, %t, 16, %s;
         ld.param.u64 %rd0, [p]; mad.wide.u32 %rd1, %t, 16, %rd0;
         cp.async.cg.shared.global [%s], [%rd1], 16;
         cp.async.commit_group;
         cp.async.ca.shared.global [%s+512], [%rd1], 8, 4;
         cp.async.commit_group;
         cp.async.wait_group 1;
         ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%s];
         cp.async.wait_all;
         ld.shared.v2.u32 {{%r5, %r6}}, [%s+512];
         add.u32 %r1, %r1, %r4;
         st.global.v4.u32 [%rd1+512], {{%r1, %r3, %r5, %r6}};
         ret; }}"
    );
    let mut kernel = Kernel::new(&text, 1, 32);
    let data = kernel.words("data", &(0..256).collect::<Vec<_>>());
    kernel.run(&[data]);
    let expected = (0..32).flat_map(|t| [8 * t + 3, 4 * t + 2, 4 * t, 0]);
    assert_eq!(kernel.read(data + 512, 128), expected.collect::<Vec<_>>());
}

#[test]
fn arguments_are_held_against_the_parameters() {
    let text = format!(
        "{HEADER}.entry k(.param .u64 out, .param .s32 i, .param .f32 x, .param .f64 y, .param .u8 b, .param .align 8 .b8 s[8]) {{
         .reg .u64 %rd<4>; .reg .u32 %r<4>; .reg .f32 %f; .reg .f64 %d;
         ld.param.u64 %rd0, [out]; ld.param.s32 %r0, [i]; ld.param.f32 %f, [x]; ld.param.f64 %d, [y];
         ld.param.u8 %r1, [b]; ld.param.b32 %r2, [s+4];
         st.global.u32 [%rd0], %r0; st.global.f32 [%rd0+4], %f; st.global.f64 [%rd0+8], %d;
         st.global.u32 [%rd0+16], %r1; st.global.u32 [%rd0+20], %r2; ret; }}"
    );
    let module = Module::parse(text.as_bytes(), "args", true).unwrap();
    let mut memory = Memory::new();
    let out = memory.alloc_uninit("out", 24).unwrap();
    let config = LaunchConfig::new([1; 3], [1; 3]);
    let s = Arg::bytes(vec![1, 0, 0, 0, 2, 0, 0, 0]);
    let good = [
        Arg::int(out.into()).typed("u64").unwrap(),
        Arg::int(-3),
        Arg::float(1.5).typed("f32").unwrap(),
        Arg::float(0.1),
        Arg::int(255),
        s,
    ];
    launch(&module, "k", &mut memory, &config, &good).unwrap();
    let mut bytes = [0; 24];
    memory.read(out, &mut bytes).unwrap();
    let word = |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap());
    assert_eq!((word(0) as i32, f32::from_bits(word(4)), word(16), word(20)), (-3, 1.5, 255, 2));
    assert_eq!(f64::from_le_bytes(bytes[8..16].try_into().unwrap()), 0.1);
    let mut refused = |i: usize, arg: Arg| {
        let mut args = good.to_vec();
        args[i] = arg;
        launch(&module, "k", &mut memory, &config, &args).unwrap_err().to_string()
    };
    assert_eq!(refused(4, Arg::int(256)), "argument 4 (u8 b): 256 is not allowed; allowed: 0 to 255");
    assert!(refused(1, Arg::int(1 << 31)).contains("-2147483648 to 2147483647"));
    assert!(refused(1, Arg::float(1.0)).contains("the float 1"));
    assert!(refused(2, Arg::int(1).typed("u32").unwrap()).contains("a u32 value"));
    // A finite number stays one; infinity itself may be asked for.
    for huge in [1e300, -1e300, 3.402_823_6e38] {
        let error = refused(2, Arg::float(huge));
        assert!(error.starts_with(&format!("argument 2 (f32 x): {huge:?} is not allowed; allowed: -3.4028235e38 to")));
    }
    assert!(refused(5, Arg::int(1)).contains("8 bytes"));
    assert!(Arg::int(1).typed("int").is_err());
    for allowed in [f64::INFINITY, f64::NAN, 3.402_823_5e38] {
        let mut args = good.to_vec();
        args[2] = Arg::float(allowed);
        launch(&module, "k", &mut memory, &config, &args).unwrap();
    }
    let few = launch(&module, "k", &mut memory, &config, &good[..2]).unwrap_err().to_string();
    assert!(few.starts_with("number of arguments: 2 is not allowed; allowed: 6: u64 out, s32 i"), "{few}");
}

#[test]
fn the_host_reads_writes_and_counts() {
    let mut memory = Memory::new();
    let a = memory.alloc_uninit("a", 10).unwrap();
    assert_eq!(a % 256, 0);
    assert_eq!(memory.unwritten(a, 10).unwrap(), 10);
    memory.write(a + 3, &[1, 2, 3]).unwrap();
    assert_eq!(memory.unwritten(a, 10).unwrap(), 7);
    let mut out = [0; 10];
    memory.read(a, &mut out).unwrap();
    assert_eq!(out, [255, 255, 255, 1, 2, 3, 255, 255, 255, 255]);
    // Copies begin and end anywhere in a word.
    for (start, end) in [(0, 10), (1, 9), (2, 3), (3, 8), (5, 6), (9, 10)] {
        let sent: Vec<u8> = (start..end).map(|i| 10 + i as u8).collect();
        memory.write(a + start, &sent).unwrap();
        let mut back = vec![0; sent.len()];
        memory.read(a + start, &mut back).unwrap();
        assert_eq!(back, sent);
    }
    let error = memory.read(a + 5, &mut out).unwrap_err().to_string();
    assert!(error.starts_with("no allocation holds 10 bytes at") && error.contains("`a`+5"), "{error}");
    let b = memory.alloc("b", &[7; 5], AllocOptions { initialised: false, ..AllocOptions::default() }).unwrap();
    assert_eq!(memory.unwritten(b, 5).unwrap(), 5);
    assert!(b - a >= 1 << 32);
    assert!(memory.alloc_uninit("huge", 1 << 47).is_err());
}

#[test]
fn a_block_that_the_host_has_no_room_for_is_refused() {
    // 512 KiB of local memory a thread, and four registers of 64 bits an instruction.
    let mut text = body(".local .b8 x[524288];\n.reg .f64 %a<30000>;");
    let line = |i: u32| format!("fma.rn.f64 %a{i}, %a{}, %a{}, %a{};\n", i + 1, i + 2, i + 3);
    let lines = (0..30_000).step_by(4).map(line).collect::<Vec<_>>().concat();
    text.insert_str(text.rfind("ret;").unwrap(), &lines);
    let module = Module::parse(text.as_bytes(), "wide", true).unwrap();
    let run = |threads| {
        let config = LaunchConfig::new([1; 3], [threads, 1, 1]);
        launch(&module, "k", &mut Memory::new(), &config, &[Arg::int(0)]).map_err(|e| e.to_string())
    };
    let refused = run(1024).unwrap_err();
    assert!(refused.starts_with("registers and local memory of a block: "), "{refused}");
    assert!(refused.contains("for its 32 warps is not allowed; allowed: 536870912 bytes"), "{refused}");
    assert!(run(32).is_ok());
}

#[test]
fn names_stay_on_one_line() {
    let text = body("ld.global.u32 %r1, [%base+8];");
    let module = Module::parse(text.as_bytes(), "a\nb\u{2028}c.ptx", true).unwrap();
    assert_eq!(module.name(), "a\\nb\\u{2028}c.ptx");
    let mut memory = Memory::new();
    let address = memory.alloc("x\ny\u{7}\r", &[0; 8], AllocOptions::default()).unwrap();
    let config = LaunchConfig::new([1; 3], [1; 3]);
    let run = |memory: &mut Memory, entry: &str| {
        launch(&module, entry, memory, &config, &[Arg::int(address.into())]).unwrap_err().to_string()
    };
    let fault = run(&mut memory, "k");
    assert!(fault.contains("0 bytes past the end of `x y\\u{7}`") && fault.lines().count() == 1, "{fault}");
    assert_eq!(run(&mut memory, "k\n").lines().count(), 1);
    let far = memory.alloc_uninit("huge\nname", 1 << 47).unwrap_err().to_string();
    assert!(far.starts_with("allocation `huge name` of"), "{far}");
    assert!(Module::parse(b"\n?", "a\nb", true).unwrap_err().to_string().starts_with("a\\nb:2: "));
}
