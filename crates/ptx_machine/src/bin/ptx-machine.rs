//! `ptx-machine`: checks PTX modules and runs them on a CPU.
//!
//! Exit codes: 0 it ran, or the text is right; 1 the kernel faulted; 2 bad input.

#[path = "ptx_machine/arguments.rs"]
mod arguments;
#[path = "ptx_machine/check.rs"]
mod check;
#[path = "ptx_machine/forms.rs"]
mod forms;
#[path = "ptx_machine/npy.rs"]
mod npy;
#[path = "ptx_machine/order.rs"]
mod order;
#[path = "ptx_machine/output.rs"]
mod output;
#[path = "ptx_machine/profile.rs"]
mod profile;
#[path = "ptx_machine/run.rs"]
mod run;
#[path = "ptx_machine/source.rs"]
mod source;
#[path = "ptx_machine/trace.rs"]
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "ptx-machine",
    version,
    about = "Runs PTX modules on a CPU, bit-exactly and with every access checked",
    after_help = "Exit code: 0 it ran, or the text is right; 1 the kernel faulted; 2 bad input."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Parse and check a module, and list its entries
    Check(check::Check),
    /// Run one entry of a module
    Run(Box<run::Run>),
    /// List the instruction forms that the machine knows
    Forms(forms::Forms),
}

/// Why the command ends without success: what it prints on standard error, and its exit code.
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// Bad input.
    pub fn input(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), code: 2 }
    }

    /// The kernel faulted, or its results depend on the order of execution.
    pub fn fault(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), code: 1 }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Check(options) => check::check(options),
        Command::Run(options) => run::run(options),
        Command::Forms(options) => forms::forms(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            // A file's name may have line breaks; a report is one line.
            eprintln!("ptx-machine: {}", message.replace(['\n', '\r'], "?"));
            ExitCode::from(code)
        }
    }
}
