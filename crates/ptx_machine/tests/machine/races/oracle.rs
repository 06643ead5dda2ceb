//! Random programs: the detector finds a race exactly where a happens-before relation worked out by brute force has one,
//! and names a pair of accesses that it does not order.
//!
//! Programs are straight lines of steps, each by a part of the threads. The oracle walks the lines in order (which is
//! one of the orders of execution, as no step waits for a later one), gives every thread a full vector clock, keeps
//! every access, and holds each against all others.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use ptx_machine::{Fault, FaultKind};

use super::kernel;
use crate::harness::Kernel;

/// The lanes of a warp that some steps name.
const MASKS: [u32; 7] = [u32::MAX, 0xffff, 0xffff_0000, 1, 2, 0b110, 0xf000_000f];
/// Words of each memory that the programs use, and bytes between the flags behind them.
const WORDS: u32 = 40;
const FLAGS: u32 = 512;

/// Who takes part in a step: warps of a block, and lanes of each.
#[derive(Debug, Clone, Copy)]
struct Who {
    block: Option<u32>,
    warps: u32,
    lanes: u32,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// To byte `size * ((t * stride + shift) mod n)` of shared or global memory.
    Access {
        who: Who,
        store: bool,
        strong: bool,
        global: bool,
        size: u32,
        stride: u32,
        shift: u32,
    },
    /// `bar.warp.sync` by the lanes.
    WarpSync {
        who: Who,
    },
    /// Of the whole block, or of so many warps.
    Barrier {
        warps: Option<u32>,
    },
    /// Warp `from` arrives at a barrier that warp `to` waits at.
    Handshake {
        from: u32,
        to: u32,
    },
    /// A lane of a warp tells a lane of another, by a flag of its own; across blocks from the first to the second.
    Flag {
        from: (u32, u32),
        to: (u32, u32),
        across: bool,
        send: Send,
        receive: Receive,
    },
    Fence {
        who: Who,
        gpu: bool,
    },
}

#[derive(Debug, Clone, Copy)]
enum Send {
    Release {
        gpu: bool,
    },
    Relaxed,
    /// A fence of that scope, then a relaxed store.
    Fenced {
        gpu: bool,
    },
}

#[derive(Debug, Clone, Copy)]
enum Receive {
    Acquire { gpu: bool },
    Relaxed,
    Fenced { gpu: bool },
}

#[derive(Debug, Clone)]
struct Program {
    blocks: u32,
    warps: u32,
    steps: Vec<Step>,
}

impl Who {
    fn threads(self, program: &Program) -> impl Iterator<Item = usize> {
        let Program { blocks, warps, .. } = *program;
        (0..blocks * warps * 32).filter_map(move |t| {
            let (block, warp, lane) = (t / 32 / warps, t / 32 % warps, t % 32);
            let is_in =
                self.block.is_none_or(|b| b == block) && self.warps >> warp & 1 != 0 && self.lanes >> lane & 1 != 0;
            is_in.then_some(t as usize)
        })
    }

    /// Sets `%p1` in its threads, and `%p2` in all lanes of its warps.
    fn predicate(self) -> String {
        let block = self.block.map_or(String::new(), |b| format!("setp.eq.and.u32 %p2, %c, {b}, %p2; "));
        format!(
            "shr.u32 %r1, {}, %w; and.b32 %r1, %r1, 1; setp.ne.u32 %p2, %r1, 0; {block}\
             shr.u32 %r1, {}, %l; and.b32 %r1, %r1, 1; setp.ne.and.u32 %p1, %r1, 0, %p2;\n",
            self.warps, self.lanes
        )
    }
}

/// Byte offset that a thread (of the launch, in the block) accesses.
fn offset(size: u32, stride: u32, shift: u32, thread: u32) -> u32 {
    size * ((thread * stride + shift) % (4 * WORDS / size))
}

impl Step {
    /// One line that the oracle knows the step by, or more of them.
    fn text(&self, number: usize, program: &Program) -> String {
        let scope = |gpu: bool| if gpu { "gpu" } else { "cta" };
        // Warps that come early to one barrier must not be counted at another.
        let id = number + 1;
        match *self {
            Step::Access { who, store, strong, global, size, stride, shift } => {
                let order = if strong { ".relaxed.gpu" } else { "" };
                let (space, base) = if global { ("global", "%base") } else { ("shared", "%bx") };
                let ty = format!("u{}", 8 * size);
                let register = if size == 4 { "%r2" } else { "%h1" };
                let count = 4 * WORDS / size;
                let address = if global {
                    "mul.wide.u32 %rd1, %r1, 1; add.u64 %rd1, %rd1, %base;"
                } else {
                    "add.u32 %r3, %r1, %bx;"
                };
                let at = if global { "%rd1" } else { "%r3" };
                let _ = base;
                let access = if store {
                    format!("st{order}.{space}.{ty} [{at}], {register};")
                } else {
                    format!("ld{order}.{space}.{ty} {register}, [{at}];")
                };
                format!(
                    "{}mad.lo.u32 %r1, %n, {stride}, {shift}; rem.u32 %r1, %r1, {count}; mul.lo.u32 %r1, %r1, {size}; \
                     {address} mov.u32 %r2, %t; mov.u16 %h1, 7; @%p1 {access}\n",
                    who.predicate()
                )
            }
            Step::WarpSync { who } => format!("{}@%p1 bar.warp.sync {};\n", who.predicate(), who.lanes),
            Step::Barrier { warps: None } => "bar.sync 0;\n".to_owned(),
            Step::Barrier { warps: Some(warps) } => {
                let who = Who { block: None, warps, lanes: u32::MAX };
                format!("{}@%p2 bar.sync {id}, {};\n", who.predicate(), 32 * warps.count_ones())
            }
            Step::Handshake { from, to } => {
                format!(
                    "setp.eq.u32 %p1, %w, {from}; @%p1 bar.arrive {id}, 64; setp.eq.u32 %p1, %w, {to}; @%p1 bar.sync {id}, 64;\n"
                )
            }
            Step::Flag { from, to, across, send, receive } => {
                let at = FLAGS + 4 * number as u32;
                let (store, fence) = match send {
                    Send::Release { gpu } => (format!("st.release.{}", scope(gpu)), String::new()),
                    Send::Relaxed => ("st.relaxed.gpu".to_owned(), String::new()),
                    Send::Fenced { gpu } => ("st.relaxed.gpu".to_owned(), format!("@%p1 fence.acq_rel.{};", scope(gpu))),
                };
                let (load, after) = match receive {
                    Receive::Acquire { gpu } => (format!("ld.acquire.{}", scope(gpu)), String::new()),
                    Receive::Relaxed => ("ld.relaxed.gpu".to_owned(), String::new()),
                    Receive::Fenced { gpu } => ("ld.relaxed.gpu".to_owned(), format!("@%p1 fence.acq_rel.{};", scope(gpu))),
                };
                // Within a block, each block has a flag of its own.
                let own = if across { "mov.u32 %r1, 0;" } else { "mul.lo.u32 %r1, %c, 4096;" };
                let side = |block: u32, (warp, lane): (u32, u32)| {
                    let who = Who { block: across.then_some(block), warps: 1 << warp, lanes: 1 << lane };
                    who.predicate().replace('\n', " ")
                };
                format!(
                    "{}{fence} {own} mul.wide.u32 %rd1, %r1, 1; add.u64 %rd1, %rd1, %base; @%p1 {store}.global.u32 [%rd1+{at}], 1;\n\
                     {}{own} mul.wide.u32 %rd1, %r1, 1; add.u64 %rd1, %rd1, %base; mov.u32 %r2, 1;\n\
                     POLL{number}: @%p1 {load}.global.u32 %r2, [%rd1+{at}]; setp.eq.and.u32 %p3, %r2, 0, %p1; @%p3 bra POLL{number}; {after}\n",
                    side(0, from),
                    side(1, to)
                )
            }
            Step::Fence { who, gpu } => format!("{}@%p1 fence.acq_rel.{};\n", who.predicate(), scope(gpu)),
        }
        .replace("%n", if program.blocks > 1 { "%r9" } else { "%t" })
    }

    /// Lines of its text.
    fn lines(&self) -> u32 {
        match self {
            Step::Access { .. } | Step::WarpSync { .. } | Step::Fence { .. } | Step::Barrier { warps: Some(_) } => 2,
            Step::Barrier { warps: None } | Step::Handshake { .. } => 1,
            Step::Flag { .. } => 3,
        }
    }
}

/// An access as the oracle keeps it.
struct Event {
    thread: usize,
    /// The thread's own time, and its whole clock.
    time: u32,
    clock: Vec<u32>,
    line: u32,
    memory: u32,
    bytes: std::ops::Range<u32>,
    size: u32,
    store: bool,
    strong: bool,
}

/// The clocks of all threads.
struct Oracle<'p> {
    program: &'p Program,
    clocks: Vec<Vec<u32>>,
    /// What each thread knew at its last fence, for the block and for all.
    fences: Vec<[Vec<u32>; 2]>,
    events: Vec<Event>,
}

fn join(into: &mut [u32], other: &[u32]) {
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

impl<'p> Oracle<'p> {
    fn new(program: &'p Program) -> Self {
        let threads = (program.blocks * program.warps * 32) as usize;
        let mut clocks = vec![vec![0; threads]; threads];
        (0..threads).for_each(|t| clocks[t][t] = 1);
        let fences = vec![[vec![0; threads], vec![0; threads]]; threads];
        Self { program, clocks, fences, events: Vec::new() }
    }

    fn tick(&mut self, thread: usize) {
        self.clocks[thread][thread] += 1;
    }

    /// All of the threads come to know what each knows.
    fn meet(&mut self, threads: &[usize]) {
        self.pass(threads, threads);
    }

    fn pass(&mut self, from: &[usize], to: &[usize]) {
        let mut all = vec![0; self.clocks.len()];
        for &thread in from {
            join(&mut all, &self.clocks[thread]);
        }
        for &thread in to {
            join(&mut self.clocks[thread], &all);
        }
        for &thread in from {
            self.tick(thread);
        }
    }

    fn fence(&mut self, thread: usize, gpu: bool) {
        for wide in 0..=usize::from(gpu) {
            self.fences[thread][wide] = self.clocks[thread].clone();
        }
        self.tick(thread);
    }

    fn warp(&self, block: u32, warp: u32) -> Vec<usize> {
        Who { block: Some(block), warps: 1 << warp, lanes: u32::MAX }.threads(self.program).collect()
    }

    fn step(&mut self, step: &Step, line: u32) {
        let blocks = 0..self.program.blocks;
        match *step {
            Step::Access { .. } => self.access(step, line + 1),
            Step::WarpSync { who } => {
                for (block, warp) in blocks.flat_map(|b| (0..self.program.warps).map(move |w| (b, w))) {
                    if who.block.is_none_or(|b| b == block) && who.warps >> warp & 1 != 0 {
                        let one = Who { block: Some(block), warps: 1 << warp, ..who };
                        self.meet(&one.threads(self.program).collect::<Vec<_>>());
                    }
                }
            }
            Step::Barrier { warps } => {
                for block in blocks {
                    let who = Who { block: Some(block), warps: warps.unwrap_or(u32::MAX), lanes: u32::MAX };
                    self.meet(&who.threads(self.program).collect::<Vec<_>>());
                }
            }
            Step::Handshake { from, to } => {
                for block in blocks {
                    let (from, to) = (self.warp(block, from), self.warp(block, to));
                    self.pass(&[&from[..], &to].concat(), &to);
                }
            }
            Step::Fence { who, gpu } => {
                for thread in who.threads(self.program).collect::<Vec<_>>() {
                    self.fence(thread, gpu);
                }
            }
            Step::Flag { from, to, across, send, receive } => {
                let thread =
                    |block: u32, (warp, lane): (u32, u32)| ((block * self.program.warps + warp) * 32 + lane) as usize;
                let pairs: Vec<_> = if across {
                    vec![(thread(0, from), thread(1, to))]
                } else {
                    blocks.map(|b| (thread(b, from), thread(b, to))).collect()
                };
                for (from, to) in pairs {
                    self.flag((from, to), across, send, receive);
                }
            }
        }
    }

    /// A relaxed flag passes on what a fence before it knew, and a fence behind it takes that in.
    fn flag(&mut self, (from, to): (usize, usize), across: bool, send: Send, receive: Receive) {
        let wide = usize::from(across);
        let released = match send {
            Send::Release { gpu } if gpu || !across => Some(self.clocks[from].clone()),
            Send::Fenced { gpu } => {
                self.fence(from, gpu);
                Some(self.fences[from][wide].clone())
            }
            _ => Some(self.fences[from][wide].clone()),
        };
        self.tick(from);
        let is_taken = match receive {
            Receive::Acquire { gpu } | Receive::Fenced { gpu } => gpu || !across,
            Receive::Relaxed => false,
        };
        if let Some(released) = released.filter(|_| is_taken) {
            join(&mut self.clocks[to], &released);
        }
        if let Receive::Fenced { gpu } = receive {
            self.fence(to, gpu);
        }
    }

    fn access(&mut self, step: &Step, line: u32) {
        let Step::Access { who, store, strong, global, size, stride, shift } = *step else { return };
        let Program { warps, .. } = *self.program;
        for thread in who.threads(self.program).collect::<Vec<_>>() {
            let (block, own) = (thread as u32 / 32 / warps, thread as u32 % (32 * warps));
            let number = if self.program.blocks > 1 { thread as u32 } else { own };
            let start = offset(size, stride, shift, number);
            self.events.push(Event {
                thread,
                time: self.clocks[thread][thread],
                clock: self.clocks[thread].clone(),
                line,
                memory: if global { u32::MAX } else { block },
                bytes: start..start + size,
                size,
                store,
                strong,
            });
        }
    }

    /// The pairs of lines that race, later one first.
    fn races(&self) -> HashSet<(u32, u32)> {
        let mut found = HashSet::new();
        let mut words: HashMap<(u32, u32), Vec<&Event>> = HashMap::new();
        for new in &self.events {
            let seen = words.entry((new.memory, new.bytes.start / 4)).or_default();
            for old in seen.iter() {
                let meet = old.bytes.start < new.bytes.end && new.bytes.start < old.bytes.end;
                let is_mutual = old.strong && new.strong && old.size == new.size;
                let is_ordered = old.thread == new.thread || old.time <= new.clock[old.thread];
                if meet && (old.store || new.store) && !is_mutual && !is_ordered {
                    found.insert((new.line, old.line));
                }
            }
            seen.push(new);
        }
        found
    }
}

impl Program {
    fn text(&self) -> String {
        let steps: String = self.steps.iter().enumerate().map(|(i, step)| step.text(i, self)).collect();
        kernel(&format!("mov.u32 %r8, %ntid.x; mad.lo.u32 %r9, %c, %r8, %t;\n{steps}"))
    }

    fn races(&self, first_line: u32) -> HashSet<(u32, u32)> {
        let mut oracle = Oracle::new(self);
        let mut line = first_line;
        for step in &self.steps {
            oracle.step(step, line);
            line += step.lines();
        }
        oracle.races()
    }

    fn run(&self, text: &str, threads: usize, schedule: Option<u64>) -> (Option<Fault>, Vec<u32>) {
        let mut kernel = Kernel::new(text, self.blocks, 32 * self.warps);
        kernel.config.threads = threads;
        kernel.config.schedule = schedule;
        kernel.config.step_limit = Some(3_000_000);
        let data = kernel.words("data", &[0; 4096]);
        let fault = kernel.verdict(&[data]);
        (fault, kernel.read(data, 4096))
    }

    fn holds(&self) {
        let text = self.text();
        let first_line =
            text.lines().position(|line| line.contains("mad.lo.u32 %r9")).expect("the first line") as u32 + 2;
        let expected = self.races(first_line);
        let (first, result) = self.run(&text, 1, None);
        // Of strong stores to one place, the last one stays.
        let has_last = self.steps.iter().any(|step| matches!(step, Step::Access { store: true, strong: true, .. }));
        for (threads, schedule) in [(1, None), (3, None), (1, Some(1)), (1, Some(2))] {
            let (found, other) = self.run(&text, threads, schedule);
            assert_eq!(found.is_some(), !expected.is_empty(), "{found:?}, {expected:?}\n{text}");
            if let Some(fault) = &found {
                assert_eq!(fault.kind, FaultKind::Race, "{fault}");
                let line: u32 = fault
                    .message
                    .split(" of line ")
                    .nth(1)
                    .and_then(|m| m.split(' ').next())
                    .and_then(|n| n.parse().ok())
                    .expect("a line");
                let is_there = expected.contains(&(fault.line, line)) || expected.contains(&(line, fault.line));
                assert!(is_there, "{fault}, {expected:?}\n{text}");
            } else if !has_last {
                assert_eq!(other, result, "schedule {schedule:?}\n{text}");
            }
            if schedule.is_none() {
                assert_eq!(found, first, "{text}");
            }
        }
    }
}

fn who(blocks: u32, warps: u32) -> impl Strategy<Value = Who> {
    let block = prop_oneof![3 => Just(None), 1 => (0..blocks).prop_map(Some)];
    (block, 1..1u32 << warps, prop::sample::select(&MASKS[..])).prop_map(|(block, warps, lanes)| Who {
        block,
        warps,
        lanes,
    })
}

fn send() -> impl Strategy<Value = Send> {
    prop_oneof![
        any::<bool>().prop_map(|gpu| Send::Release { gpu }),
        Just(Send::Relaxed),
        any::<bool>().prop_map(|gpu| Send::Fenced { gpu })
    ]
}

fn receive() -> impl Strategy<Value = Receive> {
    prop_oneof![
        any::<bool>().prop_map(|gpu| Receive::Acquire { gpu }),
        Just(Receive::Relaxed),
        any::<bool>().prop_map(|gpu| Receive::Fenced { gpu })
    ]
}

fn step(blocks: u32, warps: u32) -> impl Strategy<Value = Step> {
    let access = (who(blocks, warps), any::<bool>(), 0..4u32, any::<bool>(), 0..5u32, 0..3u32, 0..8u32).prop_map(
        |(who, store, strong, global, size, stride, shift)| Step::Access {
            who,
            store,
            strong: strong == 0,
            global,
            size: if size == 0 { 1 } else { 4 },
            stride,
            shift,
        },
    );
    let lane = (0..warps, prop::sample::select(&[0u32, 1, 31][..]));
    let flag = (lane.clone(), lane, any::<bool>(), send(), receive()).prop_filter_map(
        "a thread does not wait for itself",
        move |(from, to, across, send, receive)| {
            let across = across && blocks > 1;
            // The flag's own accesses must not race.
            let scopes = !across
                || !matches!(send, Send::Release { gpu: false }) && !matches!(receive, Receive::Acquire { gpu: false });
            (scopes && (across || from != to)).then_some(Step::Flag { from, to, across, send, receive })
        },
    );
    let handshake = (0..warps, 0..warps).prop_filter_map("a warp does not wait for itself", |(from, to)| {
        (from != to).then_some(Step::Handshake { from, to })
    });
    prop_oneof![
        8 => access,
        3 => who(blocks, warps).prop_map(|who| Step::WarpSync { who }),
        2 => Just(Step::Barrier { warps: None }),
        1 => (1..1u32 << warps).prop_map(|warps| Step::Barrier { warps: Some(warps) }),
        1 => handshake,
        2 => flag,
        1 => (who(blocks, warps), any::<bool>()).prop_map(|(who, gpu)| Step::Fence { who, gpu }),
    ]
}

fn program() -> impl Strategy<Value = Program> {
    (1..3u32, 2..4u32).prop_flat_map(|(blocks, warps)| {
        let steps = prop::collection::vec(step(blocks, warps), 2..14);
        steps.prop_map(move |steps| Program { blocks, warps, steps })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_race_is_found_where_there_is_one(program in program()) {
        program.holds();
    }
}
