//! In which order blocks and warps go, and whether the results depend on it.

use clap::Args;
use ptx_machine::{Arg, LaunchConfig, LaunchError, Memory};

use crate::Failure;
use crate::arguments::Placed;
use crate::npy::Buffer;

/// Options of `run` about races and the order of execution.
#[derive(Args)]
pub struct OrderOptions {
    /// Do not look for races
    #[arg(long)]
    no_races: bool,
    /// Draw the order of blocks, of warps between barriers and of the sides of branches from this number
    #[arg(long, value_name = "SEED")]
    schedule: Option<u64>,
    /// Also run in N drawn orders, from the seeds after SEED (or 0), and report what differs
    #[arg(long, value_name = "N", default_value_t = 0)]
    schedules: u64,
}

/// Memory, and the arguments whose buffers are in it.
pub struct Buffers {
    pub memory: Memory,
    pub placed: Vec<Placed>,
}

impl Buffers {
    /// What the kernel is given.
    pub fn args(&self) -> Vec<Arg> {
        self.placed.iter().map(|p| p.arg.clone()).collect()
    }

    fn written(&self) -> impl Iterator<Item = &Buffer> {
        self.placed.iter().filter_map(|p| p.written.as_ref())
    }
}

impl OrderOptions {
    /// The configuration of the launch itself.
    pub fn config(&self, base: LaunchConfig) -> LaunchConfig {
        LaunchConfig { races: !self.no_races, schedule: self.schedule, ..base }
    }

    /// Runs in the other orders; `launch` runs one, over buffers of its own.
    ///
    /// # Errors
    /// The first order with a fault, or with other results than `first`.
    pub fn compare(
        &self,
        first: &Buffers,
        launch: impl Fn(u64) -> Result<(Buffers, Result<(), LaunchError>), Failure>,
    ) -> Result<(), Failure> {
        let start = self.schedule.map_or(0, |seed| seed.wrapping_add(1));
        for seed in (0..self.schedules).map(|i| start.wrapping_add(i)) {
            let (ended, outcome) = launch(seed)?;
            match outcome {
                Ok(()) => same_results(seed, first, &ended)?,
                Err(LaunchError::Fault(fault)) => return Err(Failure::fault(format!("schedule {seed}: {fault}"))),
                Err(other) => return Err(Failure::input(other)),
            }
        }
        Ok(())
    }
}

/// Refuses buffers that differ.
fn same_results(seed: u64, first: &Buffers, other: &Buffers) -> Result<(), Failure> {
    for (a, b) in first.written().zip(other.written()) {
        let old = a.read(&first.memory).map_err(Failure::input)?;
        let new = b.read(&other.memory).map_err(Failure::input)?;
        let Some(at) = old.iter().zip(&new).position(|(x, y)| x != y) else { continue };
        let item = at / a.item_bytes();
        let shown = |bytes: &[u8]| {
            let bytes = bytes[item * a.item_bytes()..].iter().take(a.item_bytes()).rev();
            format!(
                "{:#0width$x}",
                bytes.fold(0u128, |n, byte| n << 8 | u128::from(*byte)),
                width = 2 + 2 * a.item_bytes()
            )
        };
        return Err(Failure::fault(format!(
            "schedule {seed}: {}: element {item} is {}, but was {}: the result depends on the order of execution",
            a.file.display(),
            shown(&new),
            shown(&old)
        )));
    }
    Ok(())
}
