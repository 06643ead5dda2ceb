//! A launch: its checks, its arguments, and the report of what went wrong.

use std::sync::{Mutex, PoisonError};

use crate::exec::{self, BlockFault, Counters, Geometry, Isa, Job, Limits, Nobody, Tracer, Watcher};
use crate::fault::{Fault, FaultKind, Trap};
use crate::launch::{Arg, LaunchConfig, LaunchError, LaunchStats};
use crate::memory::{AllocOptions, Effects, History, Memory, Segment};
use crate::module::{Entry, Module};
use crate::profile::Profile;
use crate::program::{LANES, Program};
use crate::trace::Watch;

/// Most shared memory of a block that any supported device has, in bytes.
const MAX_SHARED: u32 = 227 << 10;

/// Runs `entry` of `module` over `memory` and waits for it.
///
/// Results do not depend on the number of host threads, unless blocks of the kernel race with each other. On a fault
/// the memory keeps what was written until then.
///
/// # Errors
/// [`LaunchError::Input`] if the launch is wrong, before anything runs; [`LaunchError::Fault`] if the kernel faults;
/// [`LaunchError::Cancelled`] if it was told to end.
pub fn launch(
    module: &Module,
    entry: &str,
    memory: &mut Memory,
    config: &LaunchConfig,
    args: &[Arg],
) -> Result<LaunchStats, LaunchError> {
    launch_watched(module, entry, memory, config, args, &mut Watch::default())
}

/// As [`launch`], and tells `watch` what was executed, up to a fault where there is one.
///
/// # Errors
/// As [`launch`].
pub fn launch_watched(
    module: &Module,
    entry: &str,
    memory: &mut Memory,
    config: &LaunchConfig,
    args: &[Arg],
    watch: &mut Watch<'_>,
) -> Result<LaunchStats, LaunchError> {
    let Some(index) = module.entries().iter().position(|e| e.name == entry) else {
        let names: Vec<_> = module.entries().iter().map(|e| e.name.as_str()).collect();
        return Err(LaunchError::input("entry", entry, names.join(", ")));
    };
    let entry = &module.entries()[index];
    let program = module.program(index);
    check_shape(entry, config)?;
    check_warps(config)?;
    check_room(program, config)?;
    let params = encode_args(entry, program, args)?;
    module
        .place_variables(memory)
        .map_err(|e| LaunchError::input("module variables", e.0, "memory that has room for them"))?;
    memory.history_mut().begin(config.programmatic);
    let variables = memory.module(module.id());
    let job = Job {
        program,
        geometry: Geometry {
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.dynamic_shared,
            static_shared: entry.static_shared_bytes,
        },
        global: memory.segments(),
        constant: variables.map_or(&[], |v| &v.constant),
        params: &params,
        variables: variables.map_or(&[], |v| &v.global),
        isa: Isa::new(config.path),
        races: config.races,
        history: Some(memory.history()).filter(|history| !history.is_empty()),
        schedule: config.schedule,
        limits: Limits {
            steps: config.step_limit.unwrap_or(LaunchConfig::DEFAULT_STEP_LIMIT),
            cancel: config.cancel.as_deref(),
        },
    };
    let outcome = run_watched(&job, config.threads, module, index, watch);
    let history = memory.history_mut();
    match outcome {
        Ok((stats, effects)) => {
            history.end(config.programmatic, effects);
            Ok(stats)
        }
        Err(fault) => {
            // Whatever comes after a fault does not follow a launch.
            *history = History::default();
            Err(match fault.trap.kind {
                FaultKind::Cancelled => LaunchError::Cancelled,
                _ => LaunchError::Fault(Box::new(report(module, index, fault))),
            })
        }
    }
}

/// Runs the blocks; a launch that no one watches runs in the executor compiled for that.
fn run_watched(
    job: &Job<'_>,
    threads: usize,
    module: &Module,
    index: usize,
    watch: &mut Watch<'_>,
) -> Result<(LaunchStats, Effects), BlockFault> {
    if watch.trace.is_none() && watch.profile.is_none() {
        return exec::run(job, threads, || Nobody, drop);
    }
    let none = || watch.profile.is_some().then(|| Counters::new(job.program.insts.len()));
    let total = Mutex::new(none());
    let tracer = watch.trace.take().map(|trace| Mutex::new(Tracer::new(trace, module.traced_texts(index))));
    let outcome = exec::run(
        job,
        threads,
        || Watcher::new(tracer.as_ref(), none()),
        |watcher| {
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(total), Some(counters)) = (total.as_mut(), &watcher.counters) {
                total.add(counters);
            }
        },
    );
    watch.trace = tracer.map(|tracer| {
        let mut tracer = tracer.into_inner().unwrap_or_else(PoisonError::into_inner);
        tracer.flush();
        tracer.trace
    });
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    watch.profile = total.map(|counters| Profile::new(module, index, &counters));
    outcome
}

fn report(module: &Module, index: usize, fault: BlockFault) -> Fault {
    let (line, instruction) = module.place(index, fault.at);
    let Trap { kind, lane, address, message } = *fault.trap;
    Fault {
        kind,
        file: module.name().to_owned(),
        kernel: module.entries()[index].name.clone(),
        line,
        instruction,
        block: fault.block,
        warp: fault.warp as u32,
        lane,
        address,
        message,
    }
}

fn check_shape(entry: &Entry, config: &LaunchConfig) -> Result<(), LaunchError> {
    let shown = |shape: [u32; 3]| format!("({}, {}, {})", shape[0], shape[1], shape[2]);
    let within = |shape: [u32; 3], most: [u32; 3]| shape.iter().zip(&most).all(|(n, most)| (1..=*most).contains(n));
    let grid_most = [i32::MAX as u32, 65_535, 65_535];
    if !within(config.grid, grid_most) {
        return Err(LaunchError::input("grid", shown(config.grid), format!("(1, 1, 1) to {}", shown(grid_most))));
    }
    let block_most = [1024, 1024, 64];
    let threads: u64 = config.block.iter().map(|&n| u64::from(n)).product();
    if !within(config.block, block_most) || threads > 1024 {
        let allowed = format!("(1, 1, 1) to {}, at most 1024 threads", shown(block_most));
        return Err(LaunchError::input("block", shown(config.block), allowed));
    }
    if let Some(required) = entry.required_threads.filter(|&r| r != config.block) {
        return Err(LaunchError::input(
            "block",
            shown(config.block),
            format!("{}, the kernel's .reqntid", shown(required)),
        ));
    }
    if let Some(most) = entry.max_threads.filter(|&most| threads > u64::from(most)) {
        let allowed = format!("at most {most} threads, the kernel's .maxntid");
        return Err(LaunchError::input("block", shown(config.block), allowed));
    }
    let left = MAX_SHARED.saturating_sub(entry.static_shared_bytes);
    if config.dynamic_shared > left {
        let allowed = format!("0 to {left} bytes beside the kernel's {}", entry.static_shared_bytes);
        return Err(LaunchError::input("dynamic shared memory", config.dynamic_shared, allowed));
    }
    Ok(())
}

/// Refuses more warps than the detector of races can tell apart.
fn check_warps(config: &LaunchConfig) -> Result<(), LaunchError> {
    let blocks: u128 = config.grid.iter().map(|&n| u128::from(n)).product();
    let warps = u128::from(config.block.iter().product::<u32>().div_ceil(LANES as u32));
    if !config.races || blocks * warps <= 1 << 32 {
        return Ok(());
    }
    let shown = format!("{} warps", blocks * warps);
    Err(LaunchError::input("grid", shown, "2^32 warps where races are looked for"))
}

/// Refuses a block whose registers and local memory the host should not have to hold.
fn check_room(program: &Program, config: &LaunchConfig) -> Result<(), LaunchError> {
    let warps = config.block.iter().product::<u32>().div_ceil(LANES as u32);
    let bytes = program.warp_bytes() * u64::from(warps);
    if bytes <= exec::MAX_BLOCK_BYTES {
        return Ok(());
    }
    let shown = format!("{bytes} bytes for its {warps} warps");
    let allowed = format!("{} bytes; fewer threads, registers or local variables need less", exec::MAX_BLOCK_BYTES);
    Err(LaunchError::input("registers and local memory of a block", shown, allowed))
}

/// The parameters as read-only memory, one segment each.
fn encode_args(entry: &Entry, program: &Program, args: &[Arg]) -> Result<Vec<Segment>, LaunchError> {
    if args.len() != entry.params.len() {
        let kinds: Vec<_> = entry.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
        let allowed = format!("{}: {}", entry.params.len(), kinds.join(", "));
        return Err(LaunchError::input("number of arguments", args.len(), allowed));
    }
    let options = AllocOptions { writable: false, ..AllocOptions::default() };
    let mut segments = Vec::with_capacity(args.len());
    for (i, arg) in args.iter().enumerate() {
        let (ty, count) = entry.param_types[i];
        let info = &entry.params[i];
        let bytes = arg.encode(ty, count).map_err(|(value, allowed)| {
            LaunchError::input(format!("argument {i} ({} {})", info.ty, info.name), value, allowed)
        })?;
        let placed = &program.params[i];
        segments.push(Segment::from_bytes(&placed.name, placed.address, &bytes, options));
    }
    Ok(segments)
}
