//! Global memory: blocks, launches, and the non-coherent cache.

use ptx_machine::FaultKind;

use super::{is_clean, kernel, races, verdict, verdict_in};
use crate::harness::Kernel;

#[test]
fn barriers_order_global_memory_too() {
    let text = |between: &str| {
        format!(
            "st.global.u32 [%at], %t;\n{between}\nxor.b32 %r1, %t, 33;\nmad.wide.u32 %rd1, %r1, 4, %base;\nld.global.u32 %r2, [%rd1];"
        )
    };
    races(&text(""), 1, 64);
    races(&text("bar.warp.sync -1;"), 1, 64);
    is_clean(&text("bar.sync 0;"), 1, 64);
}

#[test]
fn blocks_are_not_ordered() {
    let f = races("@%first st.global.u32 [%base+40], %c;", 3, 32);
    assert_eq!(
        f.message,
        "nothing orders this store of `data`+40 and the store of line 19 by block (0, 0, 0), warp 0, lane 0"
    );
    assert_eq!((f.block, f.lane), ([1, 0, 0], Some(0)));
    let own = "mad.lo.u32 %r1, %c, 64, %t;\nmad.wide.u32 %rd1, %r1, 4, %base;\n";
    is_clean(&format!("{own}st.global.u32 [%rd1], %t;\nld.global.u32 %r2, [%rd1];"), 5, 64);
    is_clean("ld.global.u32 %r1, [%base];\nld.global.u32 %r1, [%at];", 5, 64);
    let read =
        |block: u32| format!("setp.eq.u32 %p1, %c, {block};\n@%p1 st.global.u32 [%at], %t;\nld.global.u32 %r1, [%at];");
    for block in 0..3 {
        races(&read(block), 3, 64);
    }
    // Barriers are of one block.
    races(
        "setp.eq.u32 %p1, %c, 1;\n@%p1 st.global.u32 [%at], %t;\nbar.sync 0;\n@!%p1 ld.global.u32 %r1, [%at];",
        2,
        64,
    );
}

#[test]
fn many_blocks_race_and_one_report_comes_out() {
    // Every block stores to words of its neighbours too.
    let text = "mad.lo.u32 %r1, %c, 60, %t;\nmad.wide.u32 %rd1, %r1, 4, %base;\nst.global.u32 [%rd1], %t;";
    let first = races(text, 20, 64);
    assert_eq!(first.block, [1, 0, 0]);
    for _ in 0..20 {
        assert_eq!(races(text, 20, 64), first);
    }
}

#[test]
fn launches_are_ordered() {
    let mut kernel = Kernel::new(
        &kernel("ld.global.u32 %r1, [%base];\nadd.u32 %r1, %r1, 1;\nbar.sync 0;\n@%first st.global.u32 [%base], %r1;"),
        1,
        64,
    );
    let data = kernel.words("data", &[3]);
    for _ in 0..3 {
        kernel.run(&[data]);
    }
    assert_eq!(kernel.read(data, 1), [6]);
}

#[test]
fn the_memory_after_a_race_is_that_of_blocks_in_order() {
    let text = kernel("st.global.u32 [%at], %c;\n@%first st.global.u32 [%base+256], %c;");
    for _ in 0..10 {
        let mut kernel = Kernel::new(&text, 8, 32);
        kernel.config.threads = 8;
        let data = kernel.words("data", &[9; 128]);
        assert_eq!(kernel.fault(&[data]).block, [1, 0, 0]);
        assert_eq!(kernel.read(data, 128), [vec![0; 32], vec![9; 32], vec![0], vec![9; 63]].concat());
    }
}

#[test]
fn races_are_not_looked_for_where_that_is_switched_off() {
    let mut kernel = Kernel::new(&kernel("st.global.u32 [%base], 5;"), 4, 32);
    kernel.config.races = false;
    let data = kernel.words("data", &[0]);
    kernel.run(&[data]);
    assert_eq!(kernel.read(data, 1), [5]);
}

#[test]
fn the_non_coherent_cache_does_not_see_writes() {
    let non_coherent = |text: &str, grid: u32| {
        let f = verdict(text, grid, 32).unwrap_or_else(|| panic!("clean: {text}"));
        assert_eq!(f.kind, FaultKind::NonCoherentRead, "{f}");
        f
    };
    let f = non_coherent("st.global.u32 [%at], %t;\nbar.sync 0;\nld.global.nc.u32 %r1, [%at];", 1);
    assert_eq!(
        f.message,
        "ld.global.nc reads `data`+0, which the same launch writes: this load, and the store of line 19 by the same lane"
    );
    let f = non_coherent("ld.global.nc.u32 %r1, [%at];\nbar.sync 0;\nst.global.u32 [%at], %t;", 1);
    assert!(f.message.contains("this store, and the load of line 19 by the same lane"), "{f}");
    // Whatever orders the blocks.
    for block in 0..2 {
        non_coherent(
            &format!(
                "setp.eq.u32 %p1, %c, {block};\n@%p1 st.global.u32 [%at], %t;\n@!%p1 ld.global.nc.u32 %r1, [%at];"
            ),
            2,
        );
    }
    // Of a word's bytes, only those that are read.
    let bytes = |offset: u32| {
        format!(
            "@%first ld.global.nc.u8 %h1, [%base];\n@%first ld.global.nc.u8 %h2, [%base+1];\n@%first st.global.u8 [%base+{offset}], 1;"
        )
    };
    non_coherent(&bytes(0), 1);
    non_coherent(&bytes(1), 1);
    is_clean(&bytes(2), 1, 32);
    is_clean("ld.global.nc.u32 %r1, [%at];\nst.global.u32 [%at+128], %r1;", 1, 32);
    // A launch after the one that writes.
    let mut kernel = Kernel::new(&kernel("ld.global.nc.u32 %r1, [%at];\nst.global.u32 [%at+128], %r1;"), 1, 32);
    let data = kernel.words("data", &(0..96).collect::<Vec<_>>());
    kernel.run(&[data]);
    kernel.run(&[data + 128]);
    assert_eq!(kernel.read(data + 256, 32), (0..32).collect::<Vec<_>>());
}

#[test]
fn words_that_everyone_reads_cost_little() {
    // A thousand warps read the same words, and one of them writes one.
    let text = |write: &str| format!("ld.global.u32 %r1, [%at];\nld.global.u32 %r2, [%base];\n{write}");
    is_clean(&text(""), 250, 128);
    races(&text("setp.eq.and.u32 %p1, %c, 200, %first;\n@%p1 st.global.u32 [%base+40], %r1;"), 250, 128);
}

#[test]
fn more_warps_than_can_be_told_apart_are_refused() {
    let mut kernel = Kernel::new(&kernel("exit;"), i32::MAX as u32, 1024);
    let error = kernel.try_run(&[0]).expect_err("it is too large").to_string();
    assert_eq!(error, "grid: 68719476704 warps is not allowed; allowed: 2^32 warps where races are looked for");
}

#[test]
fn a_block_that_waits_for_one_that_has_faulted_is_given_up() {
    let text = "@!%first exit;
         setp.eq.u32 %p1, %c, 1;
         @%p1 bra SET;
         SPIN: ld.acquire.gpu.global.u32 %r1, [%base];
         setp.ne.u32 %p2, %r1, 100;
         @%p2 bra SPIN;
         exit;
         SET: st.global.u32 [%base+65536], 1;
         st.release.gpu.global.u32 [%base], 100;";
    for (threads, schedule) in [(1, None), (2, None), (1, Some(3))] {
        // And not the step limit of the block that waits: that takes minutes.
        let fault = verdict_in(threads, schedule, text, 2, 32).expect("a store outside");
        assert_eq!((fault.kind, fault.block), (FaultKind::OutOfBounds, [1, 0, 0]), "{fault}");
    }
}
