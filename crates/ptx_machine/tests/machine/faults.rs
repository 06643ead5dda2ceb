//! Every kind of fault, with its place.

use ptx_machine::{AllocOptions, Fault, FaultKind, LaunchConfig, LaunchError, Path};

use crate::harness::{HEADER, Kernel, body};

/// Runs a kernel of one block over 16 words at `p`.
fn fault(text: &str, threads: u32) -> Fault {
    let mut kernel = Kernel::new(&body(text), 1, threads);
    let data = kernel.words("data", &[1; 16]);
    kernel.fault(&[data])
}

#[track_caller]
fn expect(fault: &Fault, kind: FaultKind, instruction: &str, lane: Option<u32>, message: &str) {
    assert_eq!(fault.kind, kind, "{fault}");
    assert_eq!(fault.instruction, instruction, "{fault}");
    assert_eq!(fault.lane, lane, "{fault}");
    assert!(fault.message.contains(message), "{fault}");
    assert!(fault.line > 4 && fault.kernel == "k" && fault.file == "test.ptx", "{fault}");
}

#[test]
fn out_of_bounds_names_the_allocation_and_the_offset() {
    let f = fault("ld.global.u32 %r1, [%at];", 20);
    expect(
        &f,
        FaultKind::OutOfBounds,
        "ld.global.u32 %r1, [%at]",
        Some(16),
        "0 bytes past the end of `data`, 64 bytes",
    );
    let shown = f.to_string();
    assert!(shown.starts_with("test.ptx:"), "{shown}");
    assert!(shown.contains("out-of-bounds in k, block (0, 0, 0), warp 0, lane 16, address 0x1"), "{shown}");
    assert!(!shown.contains('\n'));
    let f = fault("st.global.u32 [%base+-4], %t;", 1);
    expect(&f, FaultKind::OutOfBounds, "st.global.u32 [%base+-4], %t", Some(0), "4 bytes before `data`");
    // The last lane's vector would end past the allocation.
    let f = fault("mad.wide.u32 %rd1, %t, 8, %base;\nld.global.v2.u32 {%r1, %r2}, [%rd1];", 9);
    assert_eq!((f.kind, f.lane), (FaultKind::OutOfBounds, Some(8)));
    // An index that overflows 32 bits lands in no neighbour.
    let mut kernel =
        Kernel::new(&body("mul.wide.u32 %rd1, %t, -4;\nadd.u64 %rd1, %base, %rd1;\nld.global.u32 %r1, [%rd1];"), 1, 2);
    let data = kernel.words("data", &[1; 16]);
    kernel.words("neighbour", &vec![1; 1 << 16]);
    assert_eq!(kernel.fault(&[data]).kind, FaultKind::OutOfBounds);
}

#[test]
fn misaligned() {
    let f = fault("ld.global.u32 %r1, [%base+2];", 1);
    expect(
        &f,
        FaultKind::Misaligned,
        "ld.global.u32 %r1, [%base+2]",
        Some(0),
        "no multiple of the 4 bytes accessed (`data`+2",
    );
    let f = fault("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%at];", 3);
    expect(&f, FaultKind::Misaligned, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%at]", Some(1), "16 bytes");
}

#[test]
fn read_only() {
    let mut kernel = Kernel::new(&body("st.global.u32 [%at], %t;"), 1, 8);
    let options = AllocOptions { writable: false, ..AllocOptions::default() };
    let data = kernel.memory.alloc("weights", &[0; 32], options).unwrap();
    let f = kernel.fault(&[data]);
    expect(&f, FaultKind::ReadOnly, "st.global.u32 [%at], %t", Some(0), "`weights`, which is read-only");
    let text = format!(
        "{HEADER}.const .u32 c[2];.entry k() {{.reg .u64 %a;\n\n.reg .u32 %r;\nmov.u32 %r, 1;\n\
                        cvta.const.u64 %a, c;\nst.u32 [%a+4], %r; ret;}}"
    );
    let f = Kernel::new(&text, 1, 1).fault(&[]);
    expect(&f, FaultKind::ReadOnly, "st.u32 [%a+4], %r", Some(0), "`c`");
}

#[test]
fn wrong_space() {
    let text = body(
        ".shared .align 4 .b8 tile[64];
         mov.u64 %rd1, tile;
         ld.global.u32 %r1, [%rd1+8];",
    );
    let f = Kernel::new(&text, 1, 1).fault(&[0]);
    expect(&f, FaultKind::WrongSpace, "ld.global.u32 %r1, [%rd1+8]", Some(0), "`tile`+8 of shared memory");
    let f = fault("ld.shared.u32 %r1, [%base+4];", 1);
    expect(&f, FaultKind::WrongSpace, "ld.shared.u32 %r1, [%base+4]", Some(0), "`data`+4 of global memory");
    let f = fault("cvta.to.shared.u64 %rd1, %base;\nld.shared.u32 %r1, [%rd1];", 1);
    assert!(matches!(f.kind, FaultKind::WrongSpace | FaultKind::OutOfBounds), "{f}");
}

#[test]
fn shared_variables_do_not_run_into_each_other() {
    let text = body(
        ".shared .align 4 .b8 first[64];
         .shared .align 4 .b8 second[64];
         mov.u32 %r2, first;
         mad.lo.u32 %r2, %t, 4, %r2;
         st.shared.u32 [%r2], %t;
         mov.u32 %r3, second;",
    );
    let f = Kernel::new(&text, 1, 32).fault(&[0]);
    expect(
        &f,
        FaultKind::OutOfBounds,
        "st.shared.u32 [%r2], %t",
        Some(16),
        "0 bytes past the end of `first`, 64 bytes",
    );
}

#[test]
fn dynamic_shared_memory_ends_where_the_launch_says() {
    let text = format!(
        "{HEADER}.extern .shared .align 4 .b8 pool[];
         .entry k() {{ .reg .u32 %t, %r;

         mov.u32 %t, %tid.x; mov.u32 %r, pool; mad.lo.u32 %r, %t, 4, %r;
         st.shared.u32 [%r], %t; ret; }}"
    );
    let mut kernel = Kernel::new(&text, 1, 32);
    kernel.config.dynamic_shared = 100;
    let f = kernel.fault(&[]);
    expect(&f, FaultKind::OutOfBounds, "st.shared.u32 [%r], %t", Some(25), "past the end of `pool`, 100 bytes");
    kernel.config.dynamic_shared = 128;
    kernel.run(&[]);
}

#[test]
fn values_never_written_are_found_where_they_act() {
    let f = fault("st.global.u32 [%at], %r1;", 4);
    expect(&f, FaultKind::UninitialisedStore, "st.global.u32 [%at], %r1", Some(0), "never written");
    let f = fault("add.u64 %rd2, %rd1, 8;\nld.global.u32 %r1, [%rd2];", 4);
    expect(&f, FaultKind::UninitialisedAddress, "ld.global.u32 %r1, [%rd2]", Some(0), "address depends");
    let f = fault("setp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nEND:", 4);
    expect(&f, FaultKind::UninitialisedPredicate, "@%p1 bra END", Some(0), "guard depends");
    // Only the lanes that skipped the write are to blame.
    let f = fault("setp.ne.u32 %p1, %t, 5;\n@%p1 mov.u32 %r1, 3;\nst.global.u32 [%at], %r1;", 16);
    expect(&f, FaultKind::UninitialisedStore, "st.global.u32 [%at], %r1", Some(5), "never written");
    // A value that is computed with and thrown away does no harm.
    let mut kernel = Kernel::new(&body("add.u32 %r2, %r1, 1;\nmov.u32 %r2, 4;\nst.global.u32 [%at], %r2;"), 1, 4);
    let data = kernel.unwritten("data", 4);
    kernel.run(&[data]);
}

#[test]
fn unwritten_memory_is_found_through_registers_shuffles_and_shared_memory() {
    let run = |text: &str| {
        let mut kernel = Kernel::new(&body(text), 1, 32);
        let mut bytes = vec![0u8; 128];
        bytes[3] = 1;
        let data = kernel
            .memory
            .alloc("data", &bytes, AllocOptions { initialised: false, ..AllocOptions::default() })
            .unwrap();
        // All but byte 67, in the word of lane 16, is written.
        kernel.memory.write(data, &bytes[..67]).unwrap();
        kernel.memory.write(data + 68, &bytes[68..]).unwrap();
        kernel.fault(&[data])
    };
    let f = run("ld.global.u32 %r1, [%at];\nst.global.u32 [%at], %r1;");
    assert_eq!((f.kind, f.lane), (FaultKind::UninitialisedStore, Some(16)));
    let f = run(
        "ld.global.u32 %r1, [%at];\nmov.b32 %r1, %r1;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nst.global.u32 [%at], %r2;",
    );
    assert_eq!((f.kind, f.lane), (FaultKind::UninitialisedOperand, Some(17)));
    let f = run(
        "ld.global.u32 %r1, [%at];\nsetp.eq.u32 %p1, %r1, 0;\nvote.sync.any.pred %p2, %p1, -1;\n@%p2 st.global.u32 [%at], %t;",
    );
    assert_eq!((f.kind, f.lane), (FaultKind::UninitialisedPredicate, Some(0)));
    // The other bytes of the word are fine.
    let text = body("ld.global.u8 %r1, [%at];\nst.global.u32 [%at], %r1;");
    let mut kernel = Kernel::new(&text, 1, 1);
    let data = kernel.unwritten("data", 1);
    kernel.memory.write(data, &[9]).unwrap();
    kernel.run(&[data]);
    let f = fault(".shared .u32 word;\nld.shared.u32 %r1, [word];\nst.global.u32 [%base], %r1;", 1);
    assert_eq!(f.kind, FaultKind::UninitialisedStore);
    let f = fault(".local .u32 word;\nld.local.u32 %r1, [word];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%base], %r1;", 1);
    assert_eq!(f.kind, FaultKind::UninitialisedStore);
}

#[test]
fn shared_and_local_memory_and_registers_are_forgotten_between_blocks() {
    for (write, read) in [
        (".shared .u32 word; @%p1 st.shared.u32 [word], %t;", "ld.shared.u32 %r1, [word];"),
        (".local .u32 word; @%p1 st.local.u32 [word], %t;", "ld.local.u32 %r1, [word];"),
        ("@%p1 mov.u32 %r1, 1;", ""),
    ] {
        let text = body(&format!(
            "mov.u32 %r9, %ctaid.x;\nsetp.eq.u32 %p1, %r9, 0;\n{write}\n{read}\nst.global.u32 [%base], %r1;"
        ));
        let mut kernel = Kernel::new(&text, 2, 1);
        kernel.config.threads = 1;
        let data = kernel.unwritten("data", 1);
        let f = kernel.fault(&[data]);
        assert_eq!((f.kind, f.block), (FaultKind::UninitialisedStore, [1, 0, 0]), "{write}");
    }
}

#[test]
fn a_copy_that_is_not_waited_for_has_not_arrived() {
    let text = body(
        ".shared .align 16 .b8 tile[16];
         mov.u32 %r1, tile;
         cp.async.ca.shared.global [%r1], [%base], 16;
         cp.async.commit_group;
         cp.async.wait_group 1;
         ld.shared.u32 %r2, [%r1];
         st.global.u32 [%base], %r2;",
    );
    let mut kernel = Kernel::new(&text, 1, 1);
    let data = kernel.words("data", &[1; 4]);
    assert_eq!(kernel.fault(&[data]).kind, FaultKind::Race);
    kernel.config.races = false;
    assert_eq!(kernel.fault(&[data]).kind, FaultKind::UninitialisedStore);
    let f = fault(
        ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\ncp.async.cg.shared.global [%r1], [%base+8], 16;",
        1,
    );
    assert_eq!(f.kind, FaultKind::Misaligned);
    let f = fault(
        ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\ncp.async.cg.shared.global [%r1+16], [%base], 16;",
        1,
    );
    assert_eq!(f.kind, FaultKind::OutOfBounds);
    let f = fault(
        ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\nmov.u32 %r2, 17;\ncp.async.cg.shared.global [%r1], [%base], 16, %r2;",
        1,
    );
    assert_eq!(f.kind, FaultKind::BadOperand);
}

#[test]
fn divergent_barriers() {
    let f = fault("setp.lt.u32 %p1, %t, 7;\n@%p1 bar.sync 0;", 32);
    expect(&f, FaultKind::DivergentBarrier, "@%p1 bar.sync 0", Some(0), "lanes 0xffffff80");
    let f = fault("setp.lt.u32 %p1, %t, 16;\n@%p1 bra A;\nbar.sync 0;\nbra B;\nA: bar.sync 0;\nB:", 32);
    assert_eq!(f.kind, FaultKind::DivergentBarrier);
    // Lanes that have exited are not missed.
    let mut kernel = Kernel::new(&body("setp.lt.u32 %p1, %t, 16;\n@%p1 exit;\nbar.sync 0;"), 1, 64);
    kernel.run(&[0]);
}

#[test]
fn barriers_that_never_complete() {
    let f = fault("setp.lt.u32 %p1, %t, 32;\n@%p1 bra A;\nbar.sync 1;\nbra B;\nA:\nbar.sync 2;\nB:", 96);
    expect(&f, FaultKind::Deadlock, "bar.sync 2", None, "warp 0 at barrier 2");
    assert!(f.message.contains("warp 2 at barrier 1"), "{f}");
    let f = fault("setp.lt.u32 %p1, %t, 32;\n@%p1 exit;\nbar.sync 1, 96;", 96);
    expect(&f, FaultKind::Deadlock, "bar.sync 1, 96", None, "warp 1 at barrier 1");
}

#[test]
fn barriers_that_do_not_exist() {
    let f = fault("bar.sync 16;", 32);
    expect(&f, FaultKind::BadBarrier, "bar.sync 16", None, "0 to 15");
    let f = fault("bar.sync 0, 40;", 64);
    expect(&f, FaultKind::BadBarrier, "bar.sync 0, 40", None, "multiples of 32");
    let f = fault("bar.sync %t;", 32);
    expect(&f, FaultKind::BadBarrier, "bar.sync %t", Some(1), "0 in one lane and 1 in another");
    let f = fault("shr.u32 %r1, %t, 5;\nadd.u32 %r1, %r1, 2;\nmul.lo.u32 %r1, %r1, 32;\nbar.sync 0, %r1;", 96);
    expect(&f, FaultKind::BadBarrier, "bar.sync 0, %r1", None, "waits for 64 threads, here for 96");
    let f = fault("bar.sync %r1;", 32);
    assert_eq!(f.kind, FaultKind::UninitialisedOperand);
}

#[test]
fn member_masks_with_absent_lanes() {
    let f = fault("setp.lt.u32 %p1, %t, 16;\n@%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;", 32);
    expect(
        &f,
        FaultKind::AbsentLane,
        "@%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, -1",
        Some(0),
        "0xffff0000, which do not execute",
    );
    let f = fault("setp.ge.u32 %p1, %t, 16;\n@%p1 exit;\nvote.sync.any.pred %p2, %p1, -1;", 32);
    expect(&f, FaultKind::AbsentLane, "vote.sync.any.pred %p2, %p1, -1", Some(0), "0xffff0000, which have exited");
    let f = fault("bar.warp.sync 0x7fffffff;", 32);
    expect(&f, FaultKind::AbsentLane, "bar.warp.sync 0x7fffffff", Some(31), "does not name the executing lane");
    let f = fault("shfl.sync.idx.b32 %r1, %t, 0, 31, -1;", 20);
    expect(
        &f,
        FaultKind::AbsentLane,
        "shfl.sync.idx.b32 %r1, %t, 0, 31, -1",
        Some(0),
        "0xfff00000, which have exited or do not exist",
    );
    let f = fault("setp.lt.u32 %p1, %t, 16;\n@!%p1 bra END;\nshfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff;\nEND:", 32);
    expect(&f, FaultKind::AbsentLane, "shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff", Some(0), "reads lane 20");
    let f = fault("setp.lt.u32 %p1, %t, 31;\nselp.b32 %r2, -1, 0x80000000, %p1;\nbar.warp.sync %r2;", 32);
    expect(&f, FaultKind::AbsentLane, "bar.warp.sync %r2", Some(0), "0x80000000 in lane 31");
    let f = fault("bar.warp.sync %r2;", 32);
    assert_eq!(f.kind, FaultKind::UninitialisedOperand);
}

#[test]
fn step_limit_and_trap() {
    let mut kernel = Kernel::new(&body("LOOP: bra LOOP;"), 1, 64);
    kernel.config.step_limit = Some(200_000);
    let f = kernel.fault(&[0]);
    expect(&f, FaultKind::StepLimit, "bra LOOP", None, "200000 instructions");
    let f = fault("setp.eq.u32 %p1, %t, 9;\n@%p1 trap;", 32);
    expect(&f, FaultKind::Trap, "@%p1 trap", Some(9), "stops itself");
}

#[test]
fn a_launch_is_cancelled() {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut kernel = Kernel::new(&body("LOOP: bra LOOP;"), 1, 64);
    kernel.config.cancel = Some(flag.clone());
    let waiter = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(matches!(kernel.try_run(&[0]), Err(LaunchError::Cancelled)));
    waiter.join().unwrap();
}

#[test]
fn of_several_faults_the_lowest_block_is_reported_on_any_number_of_threads() {
    let text = body(
        "mov.u32 %r1, %ctaid.x;
         setp.lt.u32 %p1, %r1, 37;
         @%p1 exit;
         mul.lo.u32 %r2, %r1, 4096;
         mul.wide.u32 %rd1, %r2, 4;
         add.u64 %rd1, %base, %rd1;
         ld.global.u32 %r3, [%rd1];",
    );
    for threads in [1, 2, 5, 16] {
        for path in [Path::Auto, Path::Portable] {
            let mut kernel = Kernel::new(&text, 200, 32);
            kernel.config = LaunchConfig { threads, path, ..kernel.config };
            let data = kernel.words("data", &[0; 16]);
            let f = kernel.fault(&[data]);
            assert_eq!((f.block, f.address), ([37, 0, 0], Some(data + 37 * 4 * 4096)));
        }
    }
}

#[test]
fn launches_that_are_wrong_run_nothing() {
    let text = format!("{HEADER}.entry k() .maxntid 64, 1, 1 {{ ret; }}\n.entry r() .reqntid 32, 2, 1 {{ ret; }}");
    let module = ptx_machine::Module::parse(text.as_bytes(), "m", true).unwrap();
    let run = |entry: &str, config: &LaunchConfig| {
        let mut memory = ptx_machine::Memory::new();
        ptx_machine::launch(&module, entry, &mut memory, config, &[]).map(|_| ()).map_err(|e| e.to_string())
    };
    let config = |grid, block| LaunchConfig::new(grid, block);
    assert!(run("k", &config([1; 3], [64, 1, 1])).is_ok());
    assert_eq!(run("x", &config([1; 3], [1; 3])).unwrap_err(), "entry: x is not allowed; allowed: k, r");
    assert!(run("k", &config([1; 3], [65, 1, 1])).unwrap_err().contains(".maxntid"));
    assert!(run("r", &config([1; 3], [64, 1, 1])).unwrap_err().contains(".reqntid"));
    assert!(run("k", &config([0, 1, 1], [1; 3])).unwrap_err().starts_with("grid: (0, 1, 1)"));
    assert!(run("k", &config([1, 70_000, 1], [1; 3])).unwrap_err().starts_with("grid"));
    assert!(run("k", &config([1; 3], [32, 64, 1])).unwrap_err().contains("1024 threads"));
    let big = LaunchConfig { dynamic_shared: 300_000, ..config([1; 3], [1; 3]) };
    assert!(run("k", &big).unwrap_err().starts_with("dynamic shared memory: 300000"));
}
