//! `ptx-machine`: checks PTX modules and runs them on a CPU.
//!
//! Exit codes: 0 it ran, or the text is right; 1 the kernel faulted; 2 bad input.

#[path = "ptx_machine/arguments.rs"]
mod arguments;
#[path = "ptx_machine/npy.rs"]
mod npy;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use ptx_machine::{Entry, LaunchConfig, LaunchError, MAX_SOURCE_BYTES, Memory, Module, Path, launch};

use arguments::Argument;

#[derive(Parser)]
#[command(
    name = "ptx-machine",
    version,
    about = "Runs PTX modules on a CPU, bit-exactly and with every access checked"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Parse and check a module, and list its entries
    Check {
        /// The PTX text
        file: PathBuf,
        #[command(flatten)]
        mode: Mode,
    },
    /// Run one entry of a module
    Run(Box<Run>),
}

#[derive(Args)]
struct Mode {
    /// Accept forms without an exact definition (approximations, f32 arithmetic that an assembler may fuse)
    #[arg(long)]
    lax: bool,
}

#[derive(Args)]
struct Run {
    /// The PTX text
    file: PathBuf,
    #[command(flatten)]
    mode: Mode,
    /// Name of the entry; may be left out where there is only one
    #[arg(long)]
    entry: Option<String>,
    /// Blocks: X[,Y[,Z]]
    #[arg(long, value_parser = shape, default_value = "1")]
    grid: [u32; 3],
    /// Threads of a block: X[,Y[,Z]]
    #[arg(long, value_parser = shape)]
    block: [u32; 3],
    /// A parameter, in order: a number; TYPE:NUMBER; in:FILE.npy (a buffer); inout:FILE.npy (written back);
    /// out:FILE.npy:DTYPE:N[xM…] (a new buffer, nothing of it written yet)
    #[arg(long = "arg", allow_hyphen_values = true)]
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
}

/// `X[,Y[,Z]]`.
fn shape(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("allowed: X, X,Y or X,Y,Z".to_owned());
    }
    for (n, part) in shape.iter_mut().zip(parts) {
        *n = part.trim().parse().map_err(|_| format!("{part:?} is no whole number; allowed: X, X,Y or X,Y,Z"))?;
    }
    Ok(shape)
}

/// Why the command ends without success: what it prints, and its exit code.
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    fn input(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), code: 2 }
    }
}

fn read_module(file: &PathBuf, mode: &Mode) -> Result<Module, Failure> {
    let name = file.display().to_string();
    let refuse = |why: String| Failure::input(format!("{name}: {why}"));
    let size = std::fs::metadata(file).map_err(|e| refuse(e.to_string()))?.len();
    if size > MAX_SOURCE_BYTES as u64 {
        return Err(refuse(format!("the source has {size} bytes; allowed: up to {MAX_SOURCE_BYTES}")));
    }
    let source = std::fs::read(file).map_err(|e| refuse(e.to_string()))?;
    Module::parse(&source, &name, !mode.lax).map_err(Failure::input)
}

/// What `check` says of an entry.
fn describe(entry: &Entry) -> String {
    let params: Vec<_> = entry.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
    let dynamic = if entry.uses_dynamic_shared { " and dynamic" } else { "" };
    format!(
        "{}({})\n    line {}, {} instructions, registers {} + {} wide + {} predicates, shared {} bytes{dynamic}, \
         local {} bytes\n",
        entry.name,
        params.join(", "),
        entry.line,
        entry.instructions,
        entry.registers.b32,
        entry.registers.b64,
        entry.registers.pred,
        entry.static_shared_bytes,
        entry.local_bytes
    )
}

/// Prints all at once; a reader that has left early is no failure.
fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::input(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

fn check(file: &PathBuf, mode: &Mode) -> Result<(), Failure> {
    let module = read_module(file, mode)?;
    let (major, minor) = module.version();
    let head = format!("PTX {major}.{minor}, {}, {} entries\n", module.target(), module.entries().len());
    let entries: String = module.entries().iter().map(describe).collect();
    print(&(head + &entries))
}

fn run(run: &Run) -> Result<(), Failure> {
    let module = read_module(&run.file, &run.mode)?;
    let entry = match (&run.entry, module.entries()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.name.clone(),
        (None, entries) => {
            let names: Vec<_> = entries.iter().map(|e| e.name.as_str()).collect();
            return Err(Failure::input(format!("--entry: missing; allowed: {}", names.join(", "))));
        }
    };
    let mut memory = Memory::new();
    let placed =
        run.args.iter().map(|a| a.place(&mut memory)).collect::<Result<Vec<_>, _>>().map_err(Failure::input)?;
    let config = LaunchConfig {
        dynamic_shared: run.shared,
        threads: run.threads,
        step_limit: run.step_limit,
        path: if run.portable { Path::Portable } else { Path::Auto },
        ..LaunchConfig::new(run.grid, run.block)
    };
    let args: Vec<_> = placed.iter().map(|p| p.arg.clone()).collect();
    let stats = launch(&module, &entry, &mut memory, &config, &args).map_err(|e| match e {
        LaunchError::Fault(fault) => Failure { message: fault.to_string(), code: 1 },
        other => Failure::input(other),
    })?;
    for buffer in placed.iter().filter_map(|p| p.written.as_ref()) {
        buffer.save(&memory).map_err(Failure::input)?;
    }
    print(&format!(
        "{entry}: {} blocks, {} warps, {} warp instructions, {} thread instructions, {} divergent branches{}\n",
        stats.blocks,
        stats.warps,
        stats.instructions,
        stats.thread_instructions,
        stats.divergent_branches,
        if stats.approximate { "; approximate: a device may give other bits" } else { "" }
    ))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Check { file, mode } => check(file, mode),
        Command::Run(options) => run(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            eprintln!("ptx-machine: {message}");
            ExitCode::from(code)
        }
    }
}
