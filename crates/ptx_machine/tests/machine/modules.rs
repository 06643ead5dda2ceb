//! What a module tells about itself, and syntax that compilers write.

use ptx_machine::{AllocOptions, Arg, LaunchConfig, Memory, Module, launch};

#[test]
fn a_module_lists_its_entries() {
    let text = "// comment\n.version 8.5\n.target sm_90a, debug\n.address_size 64\n\n\
        .extern .shared .align 16 .b8 pool[];\n.const .align 4 .f32 table[2] = {1.5, 0f40000000};\n\
        .visible .entry first(\n\t.param .u64 .ptr .global .align 16 first_param_0,\n\t.param .align 4 .b8 first_param_1[12]\n)\n\
        .maxntid 128, 2, 1\n.minnctapersm 2\n{\n.reg .pred %p<3>;\n.reg .b32 %r<100>;\n.reg .b64 %rd<5>;\n\
        .shared .align 8 .b8 a[12];\n.shared .align 8 .b8 b[8];\n\
        .loc 1 20 5\nmov.u32 \t%r1, %tid.x;\n.loc 1 21 3, function_name $L__info, inlined_at 1 20 5\nmov.u32 %r2, pool;\n\
        mov.u64 %rd1, a; mov.u64 %rd2, b;\n/* block\ncomment */ setp.eq.s32 %p1, %r1, 0;\n.pragma \"nounroll\";\n\
        $L__BB0_1:\nret;\n}\n.file 1 \"kernel.cu\"\n.weak .entry second() .reqntid 32 { exit; }\n\
        .section .debug_str { $L__info: .b8 65, 66, 0 }\n";
    let module = Module::parse(text.as_bytes(), "listing", true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (module.name(), module.version(), module.target(), module.strict()),
        ("listing", (8, 5), "sm_90a", true)
    );
    let [first, second] = module.entries() else { panic!("two entries") };
    assert_eq!((first.name.as_str(), first.line, first.instructions), ("first", 8, 6));
    assert_eq!((first.static_shared_bytes, first.uses_dynamic_shared, first.max_threads), (24, true, Some(256)));
    assert_eq!((first.registers.b32, first.registers.b64, first.registers.pred), (3, 2, 1));
    let params: Vec<_> = first.params.iter().map(|p| (p.name.as_str(), p.ty.as_str(), p.align, p.bytes)).collect();
    assert_eq!(params, [("first_param_0", "u64", 8, 8), ("first_param_1", "b8[12]", 4, 12)]);
    assert_eq!((second.name.as_str(), second.required_threads), ("second", Some([32, 1, 1])));
    assert!(module.entry("second").is_some() && module.entry("third").is_none());
}

#[test]
fn special_registers_tell_the_place() {
    let text = ".version 8.5\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .u32 %v<25>, %n, %i; .reg .u64 %at;\n\
        mov.u32 %v0, %tid.x; mov.u32 %v1, %tid.y; mov.u32 %v2, %tid.z; mov.u32 %v3, %ntid.x; mov.u32 %v4, %ntid.y;\n\
        mov.u32 %v5, %ntid.z; mov.u32 %v6, %ctaid.x; mov.u32 %v7, %ctaid.y; mov.u32 %v8, %ctaid.z; mov.u32 %v9, %nctaid.x;\n\
        mov.u32 %v10, %nctaid.y; mov.u32 %v11, %nctaid.z; mov.u32 %v12, %laneid; mov.u32 %v13, %warpid;\n\
        mov.u32 %v14, %lanemask_eq; mov.u32 %v15, %lanemask_lt; mov.u32 %v16, %lanemask_le; mov.u32 %v17, %lanemask_gt;\n\
        mov.u32 %v18, %lanemask_ge; mov.b32 %v19, %nwarpid;\n\
        mad.lo.u32 %i, %v8, %v10, %v7; mad.lo.u32 %i, %i, %v9, %v6; mad.lo.u32 %i, %i, 5, %v2;\n\
        mad.lo.u32 %i, %i, %v4, %v1; mad.lo.u32 %i, %i, %v3, %v0;\n\
        ld.param.u64 %at, [p]; mad.wide.u32 %at, %i, 80, %at;\n\
        st.global.v4.u32 [%at], {%v0, %v1, %v2, %v6}; st.global.v4.u32 [%at+16], {%v7, %v8, %v12, %v13};\n\
        st.global.v4.u32 [%at+32], {%v14, %v15, %v16, %v17}; st.global.v4.u32 [%at+48], {%v18, %v19, %v5, %v11};\n\
        st.global.v4.u32 [%at+64], {%v3, %v4, %v9, %v10};\nret; }";
    let module = Module::parse(text.as_bytes(), "specials", true).unwrap_or_else(|e| panic!("{e}"));
    let (grid, block) = ([2u32, 3, 2], [3u32, 4, 5]);
    let mut memory = Memory::new();
    let out = memory.alloc_uninit("out", 12 * 60 * 80).unwrap();
    launch(&module, "k", &mut memory, &LaunchConfig::new(grid, block), &[Arg::int(out.into())]).unwrap();
    let mut bytes = vec![0; 12 * 60 * 80];
    memory.read(out, &mut bytes).unwrap();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    for (i, row) in words.chunks(20).enumerate() {
        let (b, t) = (i as u32 / 60, i as u32 % 60);
        let lane = t % 32;
        let below = (1u32 << lane) - 1;
        let place = [t % 3, t / 3 % 4, t / 12, b % 2, b / 2 % 3, b / 6, lane, t / 32];
        let masks = [1 << lane, below, below | 1 << lane, !(below | 1 << lane), !below];
        let shape = [2, 5, 2, 3, 4, 2, 3];
        assert_eq!(row, [&place[..], &masks, &shape].concat(), "block {b} thread {t}");
    }
}

#[test]
fn results_do_not_depend_on_threads_or_path() {
    let text = ".version 8.5\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .u32 %t, %b, %i; .reg .u64 %at; .reg .f32 %f<4>;\n\
        mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %i, %b, 64, %t; ld.param.u64 %at, [p]; mad.wide.u32 %at, %i, 4, %at;\n\
        cvt.rn.f32.u32 %f1, %i; mul.rn.f32 %f2, %f1, 0f3eaaaaab; fma.rn.f32 %f3, %f2, %f1, 0fbf99999a; sqrt.rn.f32 %f3, %f3;\n\
        div.rn.f32 %f3, %f3, %f1; st.global.f32 [%at], %f3; ret; }";
    let module = Module::parse(text.as_bytes(), "threads", true).unwrap();
    let run = |threads, path| {
        let mut memory = Memory::new();
        let out = memory.alloc_uninit("out", 100 * 64 * 4).unwrap();
        let config = LaunchConfig { threads, path, ..LaunchConfig::new([100, 1, 1], [64, 1, 1]) };
        let stats = launch(&module, "k", &mut memory, &config, &[Arg::int(out.into())]).unwrap();
        let mut bytes = vec![0; 100 * 64 * 4];
        memory.read(out, &mut bytes).unwrap();
        (stats, bytes)
    };
    let first = run(1, ptx_machine::Path::Auto);
    assert_eq!(first.0.instructions, 100 * 2 * 12);
    for (threads, path) in
        [(2, ptx_machine::Path::Auto), (0, ptx_machine::Path::Portable), (7, ptx_machine::Path::Portable)]
    {
        assert_eq!(run(threads, path), first);
    }
}

#[test]
fn blocks_may_write_neighbouring_bytes() {
    let text = ".version 8.5\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .u32 %b; .reg .u64 %at, %o;\n\
        mov.u32 %b, %ctaid.x; ld.param.u64 %at, [p]; cvt.u64.u32 %o, %b; add.u64 %at, %at, %o; st.global.u8 [%at], %b; ret; }";
    let module = Module::parse(text.as_bytes(), "bytes", true).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = Memory::new();
    let out = memory.alloc_uninit("out", 5000).unwrap();
    let config = LaunchConfig { threads: 8, ..LaunchConfig::new([5000, 1, 1], [1; 3]) };
    launch(&module, "k", &mut memory, &config, &[Arg::int(out.into())]).unwrap();
    let mut bytes = vec![0; 5000];
    memory.read(out, &mut bytes).unwrap();
    assert!(bytes.iter().enumerate().all(|(i, &b)| b == i as u8));
    assert_eq!(memory.unwritten(out, 5000).unwrap(), 0);
}

#[test]
fn approximations_run_on_request_and_are_marked() {
    let text = ".version 8.5\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n.reg .u64 %at; .reg .f32 %f;\n\
        ld.param.u64 %at, [p]; ld.global.f32 %f, [%at]; ex2.approx.f32 %f, %f; st.global.f32 [%at], %f; ret; }";
    let module = Module::parse(text.as_bytes(), "approx", false).unwrap();
    let mut memory = Memory::new();
    let data = memory.alloc("data", &3.0f32.to_le_bytes(), AllocOptions::default()).unwrap();
    let stats =
        launch(&module, "k", &mut memory, &LaunchConfig::new([1; 3], [1; 3]), &[Arg::int(data.into())]).unwrap();
    assert!(stats.approximate);
    let mut bytes = [0; 4];
    memory.read(data, &mut bytes).unwrap();
    assert!((f32::from_le_bytes(bytes) - 8.0).abs() < 1e-5);
}
