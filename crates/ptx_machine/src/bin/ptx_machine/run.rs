//! `ptx-machine run`: one launch over buffers from files.

use clap::Args;
use ptx_machine::{
    Fault, LaunchConfig, LaunchError, LaunchStats, Memory, Module, Path, Profile, Watch, launch, launch_watched,
};
use serde::Serialize;

use crate::Failure;
use crate::arguments::{Argument, Placed};
use crate::order::{Buffers, OrderOptions};
use crate::output::{self, print};
use crate::profile::ProfileOptions;
use crate::source::Source;
use crate::trace::TraceOptions;

/// Options of the command.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Run {
    #[command(flatten)]
    source: Source,
    /// Name of the entry; may be left out where there is only one
    #[arg(long)]
    entry: Option<String>,
    /// Blocks: X[,Y[,Z]]
    #[arg(long, value_parser = shape, default_value = "1")]
    grid: [u32; 3],
    /// Threads of a block: X[,Y[,Z]]
    #[arg(long, value_parser = shape)]
    block: [u32; 3],
    /// A parameter, in order; what it may be stands below
    #[arg(long = "arg", allow_hyphen_values = true, value_name = "ARG")]
    args: Vec<Argument>,
    /// Bytes of dynamic shared memory
    #[arg(long, default_value_t = 0)]
    shared: u32,
    /// Host threads; 0 is one a core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Instructions that a warp of one block may execute in all
    #[arg(long)]
    step_limit: Option<u64>,
    /// Use neither AVX2 nor FMA (the bits are the same)
    #[arg(long)]
    portable: bool,
    /// Print the summary, the profile and a fault as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    order: OrderOptions,
    #[command(flatten)]
    trace: TraceOptions,
    #[command(flatten)]
    profile: ProfileOptions,
}

const HELP: &str = "What --arg may be:
  256, -1, 0x10, 0.5          a number, of the parameter's own type
  f32:0.5, u64:7              a number that must be of that type
  bytes:00ff1234              the bytes of a parameter of any type, in hexadecimal
  in:FILE.npy                 a buffer that the kernel may only read
  inout:FILE.npy              a buffer that is written back to the file
  out:FILE.npy:f4:16x256      a new buffer, nothing of it written yet, saved to the file
  zeros:FILE.npy:f4:16x256    the same, filled with zeros
  scratch:NAME:f4:16x256      a new buffer for the kernel itself, which may keep values there that no one wrote
A dtype is numpy's: f2, f4, f8, i1 to i8, u1 to u8. bf16, which numpy has not, goes as u2.

Examples:
  ptx-machine run scale.ptx --block 256 --arg in:x.npy --arg out:y.npy:f4:256 --arg f32:0.5
  ptx-machine run scale.ptx --block 256 --arg in:x.npy --arg out:y.npy:f4:256 --arg 0.5 --trace 0:0 --profile
  ptx-machine run scale.ptx --block 256 --arg in:x.npy --arg out:y.npy:f4:256 --arg 0.5 --schedules 20

Exit code: 0 it ran; 1 the kernel faulted, or its results depend on the order of execution (no file is written); 2 bad input.";

/// `X[,Y[,Z]]`.
fn shape(text: &str) -> Result<[u32; 3], String> {
    numbers(text, 1)
}

/// `X[,Y[,Z]]`, with `rest` for what is left out.
pub fn numbers(text: &str, rest: u32) -> Result<[u32; 3], String> {
    let mut numbers = [rest; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("allowed: X, X,Y or X,Y,Z".to_owned());
    }
    for (n, part) in numbers.iter_mut().zip(parts) {
        *n = part.trim().parse().map_err(|_| format!("{part:?} is no whole number; allowed: X, X,Y or X,Y,Z"))?;
    }
    Ok(numbers)
}

/// Runs the entry and writes what it wrote.
pub fn run(options: &Run) -> Result<(), Failure> {
    let module = options.source.module()?;
    let entry = options.entry(&module)?;
    options.trace.check(options.grid, options.block).map_err(Failure::input)?;
    let mut buffers = options.place()?;
    let args = buffers.args();
    let out = options.trace.sink(options.json).map_err(Failure::input)?;
    let mut watch = Watch { trace: out.as_ref().map(|out| out.trace()), profile: options.profile.wanted() };
    let outcome = launch_watched(&module, &entry, &mut buffers.memory, &options.config(), &args, &mut watch);
    let profile = watch.profile.take();
    drop(watch);
    out.map_or(Ok(()), crate::trace::Sink::finish).map_err(Failure::input)?;
    let report = Report { entry: &entry, outcome: &outcome, profile: profile.as_ref() };
    if outcome.is_ok() {
        options.order.compare(&buffers, |seed| {
            let mut buffers = options.place()?;
            let (args, config) = (buffers.args(), LaunchConfig { schedule: Some(seed), ..options.config() });
            let outcome = launch(&module, &entry, &mut buffers.memory, &config, &args);
            Ok((buffers, outcome.map(|_| ())))
        })?;
    }
    options.save(&buffers.memory, &buffers.placed, &report)?;
    options.tell(&report)?;
    match outcome {
        Ok(_) => Ok(()),
        Err(LaunchError::Fault(fault)) => Err(Failure::fault(fault)),
        Err(other) => Err(Failure::input(other)),
    }
}

/// What came of the launch.
struct Report<'a> {
    entry: &'a str,
    outcome: &'a Result<LaunchStats, LaunchError>,
    profile: Option<&'a Profile>,
}

/// A report as JSON.
#[derive(Serialize)]
struct Summary<'a> {
    entry: &'a str,
    stats: Option<Stats>,
    fault: Option<FaultSummary<'a>>,
    profile: Option<crate::profile::Summary<'a>>,
}

#[derive(Serialize)]
struct Stats {
    blocks: u64,
    warps: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    divergent_branches: u64,
    barriers: u64,
    approximate: bool,
}

#[derive(Serialize)]
struct FaultSummary<'a> {
    kind: &'a str,
    file: &'a str,
    line: u32,
    instruction: &'a str,
    block: [u32; 3],
    warp: u32,
    lane: Option<u32>,
    address: Option<u64>,
    message: &'a str,
}

impl<'a> FaultSummary<'a> {
    fn new(fault: &'a Fault) -> Self {
        Self {
            kind: fault.kind.name(),
            file: &fault.file,
            line: fault.line,
            instruction: &fault.instruction,
            block: fault.block,
            warp: fault.warp,
            lane: fault.lane,
            address: fault.address,
            message: &fault.message,
        }
    }
}

impl Run {
    fn entry(&self, module: &Module) -> Result<String, Failure> {
        match (&self.entry, module.entries()) {
            (Some(name), _) => Ok(name.clone()),
            (None, [only]) => Ok(only.name.clone()),
            (None, entries) => {
                let names: Vec<_> = entries.iter().map(|e| e.name.as_str()).collect();
                Err(Failure::input(format!("--entry: missing; allowed: {}", names.join(", "))))
            }
        }
    }

    /// Memory of its own with the arguments' buffers.
    fn place(&self) -> Result<Buffers, Failure> {
        let mut memory = Memory::new();
        let placed = self.args.iter().map(|a| a.place(&mut memory)).collect::<Result<Vec<_>, _>>();
        Ok(Buffers { placed: placed.map_err(Failure::input)?, memory })
    }

    fn config(&self) -> LaunchConfig {
        self.order.config(LaunchConfig {
            dynamic_shared: self.shared,
            threads: self.threads,
            step_limit: self.step_limit,
            path: if self.portable { Path::Portable } else { Path::Auto },
            ..LaunchConfig::new(self.grid, self.block)
        })
    }

    /// Writes the buffers of a launch that ended well, and the profile of any.
    fn save(&self, memory: &Memory, placed: &[Placed], report: &Report<'_>) -> Result<(), Failure> {
        if report.outcome.is_ok() {
            for buffer in placed.iter().filter_map(|p| p.written.as_ref()) {
                buffer.save(memory).map_err(Failure::input)?;
            }
        }
        report.profile.map_or(Ok(()), |profile| self.profile.save(profile))
    }

    fn tell(&self, report: &Report<'_>) -> Result<(), Failure> {
        if self.json {
            return print(&output::json(&report.summary())?);
        }
        let stats = report.outcome.as_ref().map_or(String::new(), |stats| describe(report.entry, stats));
        let profile = report.profile.map_or(String::new(), |profile| self.profile.table(profile));
        print(&(stats + &profile))
    }
}

impl<'a> Report<'a> {
    fn summary(&self) -> Summary<'a> {
        let stats = self.outcome.as_ref().ok().map(|stats| Stats {
            blocks: stats.blocks,
            warps: stats.warps,
            warp_instructions: stats.instructions,
            thread_instructions: stats.thread_instructions,
            divergent_branches: stats.divergent_branches,
            barriers: stats.barriers,
            approximate: stats.approximate,
        });
        let fault = match self.outcome {
            Err(LaunchError::Fault(fault)) => Some(FaultSummary::new(fault)),
            _ => None,
        };
        Summary { entry: self.entry, stats, fault, profile: self.profile.map(crate::profile::Summary::new) }
    }
}

fn describe(entry: &str, stats: &LaunchStats) -> String {
    format!(
        "{entry}: {} blocks, {} warps, {} warp instructions, {} thread instructions, {} divergent branches{}\n",
        stats.blocks,
        stats.warps,
        stats.instructions,
        stats.thread_instructions,
        stats.divergent_branches,
        if stats.approximate { "; approximate: a device may give other bits" } else { "" }
    )
}
