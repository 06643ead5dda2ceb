//! What a watched launch reports of each instruction.

use serde::Serialize;

use crate::exec::Counters;
use crate::module::Module;

/// Requests of warps to global or local memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Requests {
    /// Warp instructions that accessed it.
    pub requests: u64,
    /// Sectors of 32 bytes moved: those that the lanes of a request touch, each once.
    pub sectors: u64,
    /// The fewest sectors that could hold the bytes used.
    pub ideal_sectors: u64,
    /// Distinct bytes that the lanes asked for.
    pub bytes: u64,
}

/// Requests of warps to shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SharedRequests {
    /// Warp instructions that accessed it.
    pub requests: u64,
    /// Passes that the banks took.
    pub wavefronts: u64,
    /// Passes without any bank conflict.
    pub ideal_wavefronts: u64,
}

impl Requests {
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
        self.bytes += other.bytes;
    }

    /// Bytes moved.
    pub fn bytes_moved(&self) -> u64 {
        self.sectors * 32
    }

    /// Sectors a request, 0 where there was none.
    pub fn sectors_per_request(&self) -> f64 {
        ratio(self.sectors, self.requests)
    }
}

impl SharedRequests {
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
    }

    /// Passes that bank conflicts cost.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What one instruction of the source did in a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineProfile {
    /// Line of the source, counted from 1.
    pub line: u32,
    /// The instruction as the source writes it.
    pub instruction: String,
    /// Times that a warp executed it.
    pub warps: u64,
    /// Lanes that came to it, in all of those.
    pub arrived: u64,
    /// Lanes that executed it: as `arrived`, but for those that a guard left out.
    pub executed: u64,
    /// For a branch: times that it parted the lanes of a warp.
    pub diverged: u64,
    /// Accesses to global memory.
    pub global: Requests,
    /// Accesses to local memory.
    pub local: Requests,
    /// Accesses to shared memory.
    pub shared: SharedRequests,
}

impl LineProfile {
    /// Lanes that executed it, on average.
    pub fn lanes(&self) -> f64 {
        ratio(self.executed, self.warps)
    }

    /// Opcode, with the state space for a load or store: `fma`, `ld.global`, `cp.async`.
    pub fn class(&self) -> String {
        let text = self.instruction.trim_start();
        let text = if text.starts_with('@') {
            text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest)
        } else {
            text
        };
        let mnemonic = text.trim_start().split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or("");
        let mut parts = mnemonic.split('.');
        let opcode = parts.next().unwrap_or("");
        let detail = ["global", "shared", "local", "const", "param", "async"];
        match parts.find_map(|part| detail.into_iter().find(|d| part.split(':').next() == Some(*d))) {
            Some(detail) => format!("{opcode}.{detail}"),
            None => opcode.to_owned(),
        }
    }
}

/// What a launch executed, by instruction. A model of memory stands behind the sectors and wavefronts: a device may
/// count otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Profile {
    /// Name of the entry.
    pub kernel: String,
    /// The instructions that were executed, in the order of the source.
    pub lines: Vec<LineProfile>,
}

impl Profile {
    pub(crate) fn new(module: &Module, index: usize, counters: &Counters) -> Self {
        let executed = (0..).zip(&counters.0).filter(|(_, counter)| counter.warps > 0);
        let lines = executed.map(|(at, counter)| {
            let (line, instruction) = module.place(index, at);
            // The return that the machine adds behind a body has no text.
            let instruction = if instruction.is_empty() { "}".to_owned() } else { instruction };
            LineProfile {
                line,
                instruction,
                warps: counter.warps,
                arrived: counter.arrived,
                executed: counter.executed,
                diverged: counter.diverged,
                global: counter.global,
                local: counter.local,
                shared: counter.shared,
            }
        });
        Self { kernel: module.entries()[index].name.clone(), lines: lines.collect() }
    }

    /// Warp instructions by class, most first; see [`LineProfile::class`].
    pub fn classes(&self) -> Vec<(String, u64)> {
        let mut classes = std::collections::BTreeMap::<String, u64>::new();
        self.lines.iter().for_each(|line| *classes.entry(line.class()).or_default() += line.warps);
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.sort_by_key(|(_, warps)| std::cmp::Reverse(*warps));
        classes
    }

    /// The sum over all instructions, as one line without a text.
    pub fn total(&self) -> LineProfile {
        let mut total = LineProfile {
            line: 0,
            instruction: String::new(),
            warps: 0,
            arrived: 0,
            executed: 0,
            diverged: 0,
            global: Requests::default(),
            local: Requests::default(),
            shared: SharedRequests::default(),
        };
        for line in &self.lines {
            total.warps += line.warps;
            total.arrived += line.arrived;
            total.executed += line.executed;
            total.diverged += line.diverged;
            total.global.add(&line.global);
            total.local.add(&line.local);
            total.shared.add(&line.shared);
        }
        total
    }
}
