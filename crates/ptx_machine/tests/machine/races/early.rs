//! Launches that may start before those before them have ended: what a thread may do before `griddepcontrol.wait`.

use ptx_machine::{AllocOptions, Fault, FaultKind, Memory, Module};

use super::kernel;
use crate::harness::{HEADER, Kernel};

const WAIT: &str = "griddepcontrol.wait;\n";
/// Each thread writes its word.
const WRITES: &str = "st.global.u32 [%at], %t;";
/// Each thread reads its word.
const READS: &str = "ld.global.u32 %r1, [%at];";
/// Each thread reads a word that no one writes.
const ELSEWHERE: &str = "ld.global.u32 %r1, [%at+4096];";

/// A launch: its kernel, and whether it is programmatic.
type Launch<'a> = (&'a str, bool);

/// Runs launches over one memory, of 2048 words, in the machine's order on one and on more host threads, and in some
/// that are drawn. What is wrong with the last one, if anything is; nothing may be with the others.
fn verdict(launches: &[Launch<'_>]) -> Option<Fault> {
    let run = |threads, schedule| {
        let mut memory = Memory::new();
        let mut words = None;
        let mut found = None;
        for (i, &(text, programmatic)) in launches.iter().enumerate() {
            let mut kernel = Kernel::new(&kernel(text), 1, 64);
            kernel.memory = std::mem::take(&mut memory);
            kernel.config.threads = threads;
            kernel.config.schedule = schedule;
            kernel.config.programmatic = programmatic;
            let words = *words.get_or_insert_with(|| kernel.words("data", &(0..2048).collect::<Vec<_>>()));
            found = kernel.verdict(&[words]);
            assert!(found.is_none() || i + 1 == launches.len(), "launch {i}: {found:?}");
            memory = kernel.memory;
        }
        found
    };
    let found = run(1, None);
    assert_eq!(run(3, None), found);
    for seed in 0..3 {
        assert_eq!(run(1, Some(seed)).map(|f| f.kind), found.as_ref().map(|f| f.kind), "schedule {seed}");
    }
    found
}

/// The last launch is reported for what it does before its wait.
fn is_early(launches: &[Launch<'_>]) -> Fault {
    let fault = verdict(launches).unwrap_or_else(|| panic!("{launches:?}"));
    assert_eq!(fault.kind, FaultKind::Race);
    assert!(fault.message.contains("before griddepcontrol.wait"), "{fault}");
    fault
}

fn is_clean(launches: &[Launch<'_>]) {
    assert_eq!(verdict(launches), None, "{launches:?}");
}

#[test]
fn a_report_names_the_access_the_place_and_what_was_done_there() {
    let text = "setp.eq.u32 %p1, %t, 5;\n@%p1 ld.global.u32 %r1, [%at];";
    let fault = is_early(&[(WRITES, false), (text, true)]);
    assert_eq!(
        fault.message,
        "load of `data`+20, which a launch before this one wrote, before griddepcontrol.wait: that launch may still be \
         running"
    );
    assert_eq!((fault.line, fault.lane), (20, Some(5)));
    assert_eq!(fault.address.map(|address| address % 256), Some(20));
    assert_eq!(fault.instruction, "@%p1 ld.global.u32 %r1, [%at]");
}

#[test]
fn what_conflicts_with_a_write_has_to_wait() {
    let copy = "cp.async.ca.shared.global [%slot], [%at], 4;\ncp.async.wait_all;";
    let generic = "cvta.global.u64 %rd1, %at;\nld.u32 %r1, [%rd1];";
    let non_coherent = "ld.global.nc.u32 %r1, [%at];";
    let strong = "ld.relaxed.gpu.global.u32 %r1, [%at];";
    let byte = "ld.global.u8 %r1, [%at+3];";
    let atomic = "atom.global.add.u32 %r1, [%at], 1;";
    let reduction = "red.global.add.u32 [%at], 1;";
    for text in [READS, WRITES, copy, generic, non_coherent, strong, byte, atomic, reduction] {
        is_early(&[(WRITES, false), (text, true)]);
        is_clean(&[(WRITES, false), (text, false)]);
        is_clean(&[(WRITES, false), (&format!("{WAIT}{text}"), true)]);
        is_early(&[(WRITES, false), (&format!("{text}\n{WAIT}"), true)]);
    }
}

#[test]
fn whatever_writes_has_to_be_waited_for() {
    for text in ["atom.global.exch.b32 %r1, [%at], %t;", "red.global.or.b32 [%at], 0;", "st.global.u8 [%at], %r1;"] {
        let text = format!("mov.u32 %r1, 1;\n{text}");
        is_early(&[(&text, false), (READS, true)]);
    }
    // Where many threads meet at a word, too.
    is_early(&[("red.global.add.u32 [%base], 1;", false), ("ld.global.u32 %r1, [%base];", true)]);
}

#[test]
fn what_was_read_may_be_read_but_not_written() {
    let copy = "cp.async.ca.shared.global [%slot], [%at], 4;\ncp.async.wait_all;";
    for text in [READS, copy, "ld.global.nc.u32 %r1, [%at];", "ld.relaxed.gpu.global.u32 %r1, [%at];"] {
        is_clean(&[(text, false), (READS, true)]);
        let fault = is_early(&[(text, false), (WRITES, true)]);
        assert!(fault.message.starts_with("store of `data`+0, which a launch before this one read, before"), "{fault}");
        is_clean(&[(text, false), (&format!("{WAIT}{WRITES}"), true)]);
    }
    is_early(&[("ld.global.u32 %r1, [%base];", false), ("@%first st.global.u32 [%base], %t;", true)]);
}

#[test]
fn bytes_count_and_not_words() {
    let writes = "mov.u32 %r1, 7;\nst.global.u8 [%at+1], %r1;";
    is_clean(&[(writes, false), ("ld.global.u8 %r1, [%at];\nld.global.u16 %r1, [%at+2];", true)]);
    is_early(&[(writes, false), ("ld.global.u16 %r1, [%at];", true)]);
}

#[test]
fn a_prefetch_and_other_memory_need_no_wait() {
    is_clean(&[(WRITES, false), ("prefetch.global.L2 [%at];", true)]);
    is_clean(&[(WRITES, false), ("griddepcontrol.launch_dependents;", true)]);
    is_clean(&[(WRITES, false), (ELSEWHERE, true)]);
    is_clean(&[(WRITES, false), ("st.shared.u32 [%slot], %t;\nld.shared.u32 %r1, [%slot];", true)]);
}

#[test]
fn launch_dependents_is_no_wait() {
    is_early(&[(WRITES, false), (&format!("griddepcontrol.launch_dependents;\n{READS}"), true)]);
}

#[test]
fn every_thread_has_to_wait_itself() {
    is_early(&[(WRITES, false), (&format!("@%first {WAIT}bar.sync 0;\n{READS}"), true)]);
    let half = format!("setp.lt.u32 %p1, %t, 32;\n@%p1 bra rest;\n{WAIT}rest:\n{READS}");
    let fault = is_early(&[(WRITES, false), (&half, true)]);
    assert_eq!(fault.warp, 0);
    let own = format!("setp.lt.u32 %p1, %t, 32;\n@%p1 exit;\n{WAIT}{READS}");
    is_clean(&[(WRITES, false), (&own, true)]);
}

#[test]
fn the_first_launch_meets_no_one() {
    is_clean(&[(READS, true)]);
    is_clean(&[(WRITES, true)]);
}

#[test]
fn launches_before_the_last_one_may_still_run_too() {
    let waits = format!("{WAIT}{ELSEWHERE}");
    is_early(&[(WRITES, false), (&waits, true), (READS, true)]);
    is_early(&[(WRITES, false), (&waits, true), (&waits, true), (READS, true)]);
    // Who waits for the last one waits for those that it has waited for.
    is_clean(&[(WRITES, false), (&waits, true), (&waits, true), (&format!("{WAIT}{READS}"), true)]);
    // A plain launch starts when all of them have ended.
    is_clean(&[(WRITES, false), (&waits, true), (ELSEWHERE, false), (READS, true)]);
    is_clean(&[(WRITES, false), (&waits, true), (READS, false)]);
}

#[test]
fn a_launch_that_never_waits_hides_those_before_it() {
    let after = format!("{WAIT}{READS}");
    for programmatic in [true, false] {
        let fault = verdict(&[(WRITES, false), (ELSEWHERE, true), (&after, programmatic)]).unwrap();
        assert_eq!(
            fault.message,
            "load of `data`+0, which an earlier launch wrote: it may still be running, as a programmatic launch after it \
             ended with no thread of it at griddepcontrol.wait"
        );
    }
    // One thread that waits is enough for the launch not to end before.
    let one = format!("@%first {WAIT}{ELSEWHERE}");
    is_clean(&[(WRITES, false), (&one, true), (&after, true)]);
    // Its own writes are waited for.
    is_clean(&[(ELSEWHERE, false), (WRITES, true), (&after, true)]);
}

#[test]
fn what_the_host_writes_comes_after_every_launch() {
    let mut first = Kernel::new(&kernel(WRITES), 1, 64);
    let words = first.words("data", &[0; 2048]);
    first.run(&[words]);
    let mut second = Kernel::new(&kernel(READS), 1, 64);
    second.memory = first.memory;
    second.config.programmatic = true;
    second.memory.write(words + 4096, &[1, 2, 3]).unwrap();
    assert_eq!(second.verdict(&[words]), None);
}

/// A programmatic launch behind one, not run here, that wrote or only read `data`, which kernels may only read.
fn behind_a_stranger(text: &str, wrote: bool, writable: bool) -> Option<Fault> {
    let mut kernel = Kernel::new(&kernel(text), 1, 64);
    kernel.config.programmatic = true;
    let options = AllocOptions { writable, ..AllocOptions::default() };
    let words = kernel.memory.alloc("data", &[0; 8192], options).unwrap();
    let (all, none) = ([words], []);
    let (writes, reads): (&[u64], &[u64]) = if wrote { (&all, &none) } else { (&none, &all) };
    kernel.memory.follow(writes, reads).unwrap();
    kernel.verdict(&[words])
}

#[test]
fn a_launch_can_follow_one_that_is_not_run_here() {
    let copy = "cp.async.ca.shared.global [%slot], [%at+4096], 4;\ncp.async.wait_all;";
    for text in [ELSEWHERE, copy, "ld.global.nc.u32 %r1, [%at+4096];"] {
        for writable in [true, false] {
            let fault = behind_a_stranger(text, true, writable).unwrap();
            assert!(
                fault.message.ends_with(
                    "of `data`+4096, which a launch before this one wrote, before \
                griddepcontrol.wait: that launch may still be running"
                ),
                "{fault}"
            );
            assert_eq!(behind_a_stranger(&format!("{WAIT}{text}"), true, writable), None);
            assert_eq!(behind_a_stranger(text, false, writable), None);
        }
    }
    let fault = behind_a_stranger(WRITES, false, true).unwrap();
    assert!(fault.message.starts_with("store of `data`+0, which a launch before this one read, before"), "{fault}");
    assert_eq!(behind_a_stranger(&format!("{WAIT}{WRITES}"), false, true), None);
    assert_eq!(behind_a_stranger("prefetch.global.L2 [%at];", true, false), None);
}

#[test]
fn a_stranger_is_a_launch_like_any_other() {
    let after = format!("{WAIT}{READS}");
    // What is run next, with whether it is programmatic, and then whether the last is reported.
    for (next, programmatic, is_reported) in
        [(after.as_str(), true, true), (ELSEWHERE, false, false), (after.as_str(), false, false)]
    {
        let mut first = Kernel::new(&kernel(next), 1, 64);
        let words = first.words("data", &[0; 2048]);
        first.run(&[words]);
        // Launches before it have ended.
        first.memory.follow(&[words], &[]).unwrap();
        first.config.programmatic = programmatic;
        first.run(&[words]);
        let mut last = Kernel::new(&kernel(READS), 1, 64);
        last.memory = first.memory;
        last.config.programmatic = true;
        assert_eq!(last.verdict(&[words]).is_some(), is_reported, "{next} {programmatic}");
    }
    let error = Memory::new().follow(&[], &[64]).unwrap_err();
    assert_eq!(error.to_string(), "no allocation holds 0 bytes at 0x40 (nothing is allocated there)");
}

#[test]
fn without_a_look_at_races_there_is_none_at_this() {
    let mut kernel = Kernel::new(&kernel(WRITES), 1, 64);
    kernel.config.programmatic = true;
    let words = kernel.words("data", &[0; 2048]);
    kernel.run(&[words]);
    kernel.config.races = false;
    kernel.run(&[words]);
    kernel.config.races = true;
    kernel.config.programmatic = false;
    kernel.run(&[words]);
}

#[test]
fn variables_of_a_module_are_memory_like_any_other() {
    let text = format!(
        "{HEADER}.global .u32 counter;\n.entry k() {{\n.reg .b32 %r;\n.reg .pred %first;\nmov.u32 %r, %tid.x;\n\
         setp.eq.u32 %first, %r, 0;\n@%first st.global.u32 [counter], %r;\nret; }}"
    );
    let mut kernel = Kernel::new(&text, 1, 64);
    kernel.run(&[]);
    kernel.config.programmatic = true;
    let fault = kernel.fault(&[]);
    assert!(fault.message.starts_with("store of `counter`+0, which a launch before this one wrote"), "{fault}");
}

#[test]
fn a_fault_ends_what_was_known() {
    let mut kernel = Kernel::new(&kernel(WRITES), 1, 64);
    let words = kernel.words("data", &[0; 2048]);
    kernel.run(&[words]);
    kernel.config.programmatic = true;
    kernel.fault(&[words]);
    kernel.run(&[words]);
}

#[test]
fn older_architectures_do_not_have_it() {
    for action in ["wait", "launch_dependents"] {
        let text =
            format!(".version 8.8\n.target sm_89\n.address_size 64\n.entry k() {{ griddepcontrol.{action}; ret; }}");
        let error = Module::parse(text.as_bytes(), "old.ptx", true).unwrap_err();
        assert!(error.to_string().contains("sm_90"), "{error}");
    }
}
