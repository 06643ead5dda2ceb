//! What a watched launch tells: traces and profiles.

use ptx_machine::{LaunchStats, LineProfile, Profile, Scalar, Trace, TraceStep, Watch};

use super::harness::{Kernel, body};

/// The upper 24 lanes branch over an addition that the lower 8 make; all of them store.
const PARTING: &str = "ld.global.f32 %f1, [%at];
setp.ge.u32 %p1, %t, 8;
@%p1 bra met;
add.rn.f32 %f1, %f1, %f1;
met:
st.global.f32 [%at], %f1;";

fn parting(grid: u32) -> (Kernel, u64) {
    let mut kernel = Kernel::new(&body(PARTING), grid, 64);
    let words: Vec<u32> = (0..64u8).map(|i| f32::from(i).to_bits()).collect();
    let address = kernel.words("p", &words);
    (kernel, address)
}

/// The steps of warp 0 of block 0 that `wanted` narrows down to.
fn traced(kernel: &mut Kernel, args: &[u64], wanted: impl FnOnce(&mut Trace<'_>)) -> Vec<TraceStep> {
    let mut steps = Vec::new();
    let mut trace = Trace::new([0; 3], 0, |step: &TraceStep| steps.push(step.clone()));
    wanted(&mut trace);
    let mut watch = Watch { trace: Some(trace), profile: None };
    // A kernel that faults has a trace too.
    let _ = kernel.watched(args, &mut watch);
    drop(watch);
    steps
}

fn profiled(kernel: &mut Kernel, args: &[u64]) -> (Option<LaunchStats>, Profile) {
    let mut watch = Watch { trace: None, profile: Some(Profile::default()) };
    let stats = kernel.watched(args, &mut watch).ok();
    (stats, watch.profile.expect("a profile"))
}

fn line<'p>(profile: &'p Profile, start: &str) -> &'p LineProfile {
    profile.lines.iter().find(|line| line.instruction.starts_with(start)).expect(start)
}

#[test]
fn a_trace_has_every_step_with_what_it_reads_and_writes() {
    let (mut kernel, address) = parting(1);
    let steps = traced(&mut kernel, &[address], |_| {});
    let shown: Vec<_> = steps.iter().map(|s| (s.number, s.instruction.as_str(), s.arrived, s.executed)).collect();
    assert_eq!(shown[3], (4, "ld.global.f32 %f1, [%at]", u32::MAX, u32::MAX));
    // The lanes that branch run on first, and wait for the others where they meet.
    assert_eq!(shown[5], (6, "@%p1 bra met", u32::MAX, 0xffff_ff00));
    assert_eq!(shown[6], (7, "add.rn.f32 %f1, %f1, %f1", 0xff, 0xff));
    assert_eq!(shown[7], (8, "st.global.f32 [%at], %f1", u32::MAX, u32::MAX));
    let add = &steps[6];
    let names = |values: &[ptx_machine::TraceValue]| values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&add.reads), names(&add.writes)), (vec!["%f1".to_owned()], vec!["%f1".to_owned()]));
    assert_eq!(add.reads[0].ty, Scalar::F32);
    assert_eq!((add.reads[0].bits[5], add.writes[0].bits[5]), (5f32.to_bits().into(), 10f32.to_bits().into()));
    let setp = &steps[4];
    assert_eq!(names(&setp.writes), ["%p1"]);
    assert_eq!((setp.writes[0].bits[7], setp.writes[0].bits[8]), (0, 1));
    assert_eq!(steps[0].reads[0].name, "%tid.x");
    let store = &steps[7];
    assert_eq!((names(&store.reads), store.writes.len()), (vec!["%at".to_owned(), "%f1".to_owned()], 0));
}

#[test]
fn a_trace_is_narrowed_down_by_lines_and_a_limit() {
    let (mut kernel, address) = parting(1);
    let all = traced(&mut kernel, &[address], |_| {});
    let from = all[4].line;
    let some = traced(&mut kernel, &[address], |trace| trace.lines = from..=from + 1);
    assert_eq!(some.iter().map(|s| s.line).collect::<Vec<_>>(), [from, from + 1]);
    let few = traced(&mut kernel, &[address], |trace| trace.limit = 3);
    assert_eq!(few, all[..3]);
    assert!(traced(&mut kernel, &[address], |trace| trace.warp = 7).is_empty());
}

#[test]
fn a_trace_ends_with_the_instruction_that_faults() {
    let mut kernel = Kernel::new(&body("ld.global.u32 %r1, [%at+4];\nadd.u32 %r2, %r1, 1;"), 1, 32);
    let address = kernel.words("p", &[7; 32]);
    let steps = traced(&mut kernel, &[address], |_| {});
    let last = steps.last().expect("a step");
    assert_eq!(last.instruction, "ld.global.u32 %r1, [%at+4]");
    assert_eq!((last.reads[0].bits[31], last.writes.len()), (address + 124, 0));
}

#[test]
fn a_value_that_was_never_written_is_told_as_unknown() {
    let text = "setp.lt.u32 %p1, %t, 4;\n@%p1 mov.u32 %r1, 1;\nadd.u32 %r2, %r1, %t;";
    let mut kernel = Kernel::new(&body(text), 1, 32);
    let address = kernel.words("p", &[0; 32]);
    let steps = traced(&mut kernel, &[address], |_| {});
    let add = steps.iter().find(|s| s.instruction.starts_with("add")).expect("add");
    assert_eq!((add.reads[0].known, add.writes[0].known), (0xf, 0xf));
}

#[test]
fn a_profile_counts_what_the_launch_counts() {
    for threads in [1, 2] {
        let (mut kernel, address) = parting(6);
        kernel.config.threads = threads;
        // The blocks write the same words.
        kernel.config.races = false;
        let (stats, profile) = profiled(&mut kernel, &[address]);
        let (stats, total) = (stats.expect("it ends well"), profile.total());
        assert_eq!((total.warps, total.executed), (stats.instructions, stats.thread_instructions));
        assert_eq!(total.diverged, stats.divergent_branches);
        assert_eq!(profile.classes().iter().map(|(_, warps)| warps).sum::<u64>(), stats.instructions);
        let branch = line(&profile, "@%p1 bra");
        // The second warp's lanes all branch.
        assert_eq!((branch.warps, branch.arrived, branch.executed, branch.diverged), (12, 384, 336, 6));
        assert_eq!(line(&profile, "add").lanes(), 8.0);
        let load = line(&profile, "ld.global").global;
        assert_eq!((load.requests, load.sectors, load.bytes, load.bytes_moved()), (12, 48, 1536, 1536));
    }
}

#[test]
fn watching_changes_no_result() {
    let (mut plain, address) = parting(1);
    let stats = plain.run(&[address]);
    let (mut kernel, address) = parting(1);
    let mut steps = 0u64;
    let trace = Trace::new([0; 3], 1, |_| steps += 1);
    let mut watch = Watch { trace: Some(trace), profile: Some(Profile::default()) };
    let seen = kernel.watched(&[address], &mut watch).expect("it ends well");
    let profile = watch.profile.take().expect("a profile");
    drop(watch);
    assert_eq!((seen, kernel.read(address, 64)), (stats, plain.read(address, 64)));
    assert!(steps > 0 && profile.total().warps == stats.instructions);
}

#[test]
fn a_profile_of_a_launch_that_faults_ends_there() {
    let mut kernel = Kernel::new(&body("trap;\nadd.u32 %r2, %t, 1;"), 1, 32);
    let address = kernel.words("p", &[0]);
    let (stats, profile) = profiled(&mut kernel, &[address]);
    assert_eq!(stats, None);
    assert_eq!(profile.lines.last().map(|line| (line.instruction.as_str(), line.warps)), Some(("trap", 1)));
}

#[test]
fn a_profile_sees_where_accesses_go() {
    let text = ".shared .align 16 .b8 tile[4096];
.local .align 16 .b8 own[16];
.reg .b32 %s;
mov.u32 %s, tile;
mad.lo.u32 %s, %t, 128, %s;
st.shared.u32 [%s], %t;
ld.shared.u32 %r1, [%s];
mov.u64 %rd1, tile;
cvta.shared.u64 %rd1, %rd1;
bar.sync 0;
st.u32 [%rd1+4], 1;
st.u32 [%base], 1;
st.local.u32 [own], %t;
mad.wide.u32 %rd2, %t, 64, %base;
ld.global.u32 %r2, [%rd2];
mov.u32 %s, tile;
mad.lo.u32 %s, %t, 16, %s;
bar.sync 0;
cp.async.ca.shared.global [%s], [%base], 16, 4;
cp.async.wait_all;";
    let mut kernel = Kernel::new(&body(text), 1, 32);
    // All lanes write the same word.
    kernel.config.races = false;
    let address = kernel.words("p", &[1; 1024]);
    let (stats, profile) = profiled(&mut kernel, &[address]);
    assert!(stats.is_some(), "{:?}", profile.lines.last());
    let shared = line(&profile, "st.shared").shared;
    assert_eq!((shared.requests, shared.wavefronts, shared.ideal_wavefronts, shared.conflicts()), (1, 32, 1, 31));
    let generic = line(&profile, "st.u32 [%rd1");
    assert_eq!((generic.shared.requests, generic.shared.wavefronts, generic.global.requests), (1, 1, 0));
    assert_eq!(line(&profile, "st.u32 [%base").global.sectors, 1);
    let local = line(&profile, "st.local").local;
    assert_eq!((local.requests, local.sectors, local.ideal_sectors), (1, 4, 4));
    let strided = line(&profile, "ld.global").global;
    assert_eq!((strided.sectors, strided.ideal_sectors, strided.bytes), (32, 4, 128));
    let copy = line(&profile, "cp.async.ca");
    assert_eq!((copy.global.sectors, copy.global.bytes), (1, 4), "only the bytes that are read");
    assert_eq!((copy.shared.wavefronts, copy.shared.ideal_wavefronts), (4, 4));
    assert_eq!(copy.class(), "cp.async");
    assert_eq!(
        (line(&profile, "st.u32 [%base").class(), line(&profile, "st.local").class()),
        ("st".into(), "st.local".into())
    );
}
