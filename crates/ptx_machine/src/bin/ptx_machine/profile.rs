//! `--profile`: which lines of a kernel take the instructions, and how they access memory.

use std::path::PathBuf;

use clap::Args;
use ptx_machine::{LineProfile, Profile, Requests, SharedRequests};
use serde::Serialize;

use crate::Failure;
use crate::output::{json, write_text};

/// Options of the profile.
#[derive(Args)]
pub struct ProfileOptions {
    /// Print the hottest lines: instructions, divergence, bank conflicts, sectors a request (a model, not a device)
    #[arg(long)]
    profile: bool,
    /// How many lines `--profile` prints
    #[arg(long, value_name = "N", default_value_t = 20)]
    profile_lines: usize,
    /// Write every line's counts to a file as JSON
    #[arg(long, value_name = "FILE")]
    profile_json: Option<PathBuf>,
}

/// A profile as JSON: every line, their sum, and the warp instructions of each class.
#[derive(Serialize)]
pub struct Summary<'a> {
    kernel: &'a str,
    lines: &'a [LineProfile],
    total: LineProfile,
    classes: Vec<Class>,
}

#[derive(Serialize)]
struct Class {
    class: String,
    warps: u64,
}

impl<'a> Summary<'a> {
    /// The profile with its sums.
    pub fn new(profile: &'a Profile) -> Self {
        let classes = profile.classes().into_iter().map(|(class, warps)| Class { class, warps }).collect();
        Self { kernel: &profile.kernel, lines: &profile.lines, total: profile.total(), classes }
    }
}

impl ProfileOptions {
    /// An empty profile for the launch to fill, where one is asked for.
    pub fn wanted(&self) -> Option<Profile> {
        (self.profile || self.profile_json.is_some()).then(Profile::default)
    }

    /// Writes the file that was asked for.
    pub fn save(&self, profile: &Profile) -> Result<(), Failure> {
        let Some(file) = &self.profile_json else { return Ok(()) };
        write_text(file, &json(&Summary::new(profile))?).map_err(Failure::input)
    }

    /// What to print; nothing where only a file was asked for.
    pub fn table(&self, profile: &Profile) -> String {
        if !self.profile {
            return String::new();
        }
        let total = profile.total();
        let mut hot: Vec<&LineProfile> = profile.lines.iter().collect();
        // Of those that ran as often, first the one that moved the most.
        hot.sort_by_key(|line| std::cmp::Reverse((line.warps, passes(line))));
        let left = hot.len().saturating_sub(self.profile_lines);
        hot.truncate(self.profile_lines);
        let mut lines = vec![format!("{:>6} {:>12} {:>5} {:>5}  instruction", "line", "warps", "%", "lanes")];
        lines.extend(hot.iter().flat_map(|line| rows(line, total.warps)));
        if left > 0 {
            lines.push(format!("{left} more lines: --profile-lines"));
        }
        lines.extend(totals(profile, &total));
        lines.join("\n") + "\n"
    }
}

/// An instruction in one line, and one more for each thing that is said of it.
fn rows(line: &LineProfile, all: u64) -> Vec<String> {
    let share = 100.0 * line.warps as f64 / all.max(1) as f64;
    let counts = format!("{:>6} {:>12} {share:>5.1} {:>5.1}", line.line, line.warps, line.lanes());
    let row = format!("{counts}  {}", line.instruction);
    std::iter::once(row).chain(notes(line).iter().map(|note| format!("{:35}{note}", ""))).collect()
}

/// Passes of shared memory and sectors of the rest that an instruction took.
fn passes(line: &LineProfile) -> u64 {
    line.shared.wavefronts + line.global.sectors + line.local.sectors
}

/// What is worth saying of an instruction besides how often it ran.
fn notes(line: &LineProfile) -> Vec<String> {
    let mut notes = Vec::new();
    if line.diverged > 0 {
        notes.push(format!("diverged {} times of {}", line.diverged, line.warps));
    }
    if line.arrived > line.executed {
        let off = 100.0 * (line.arrived - line.executed) as f64 / line.arrived as f64;
        notes.push(format!("the guard left out {off:.1} % of the lanes that came"));
    }
    for (space, counted) in [("global", &line.global), ("local", &line.local)] {
        if counted.requests > 0 {
            let ideal = counted.ideal_sectors as f64 / counted.requests as f64;
            let used = 100.0 * counted.bytes as f64 / counted.bytes_moved().max(1) as f64;
            let sectors = counted.sectors_per_request();
            notes.push(format!(
                "{space}: {sectors:.2} sectors a request, ideal {ideal:.2}; {used:.0} % of the bytes used"
            ));
        }
    }
    if line.shared.requests > 0 {
        let each = |count: u64| count as f64 / line.shared.requests as f64;
        let (wavefronts, ideal) = (each(line.shared.wavefronts), each(line.shared.ideal_wavefronts));
        notes.push(format!("shared: {wavefronts:.2} wavefronts a request, ideal {ideal:.2}"));
    }
    notes
}

fn totals(profile: &Profile, total: &LineProfile) -> Vec<String> {
    let share = |warps: u64| 100.0 * warps as f64 / total.warps.max(1) as f64;
    let classes: Vec<_> =
        profile.classes().iter().map(|(class, warps)| format!("{class} {warps} ({:.1} %)", share(*warps))).collect();
    let mut lines = vec![
        format!("{}: {} warp instructions, {:.1} lanes each", profile.kernel, total.warps, total.lanes()),
        format!("  by class: {}", classes.join(", ")),
    ];
    for (space, counted) in [("global", &total.global), ("local", &total.local)] {
        if counted.requests > 0 {
            let Requests { requests, sectors, ideal_sectors, bytes } = counted;
            let moved = counted.bytes_moved();
            let sectors = format!("{sectors} sectors (ideal {ideal_sectors})");
            lines.push(format!("  {space}: {requests} requests, {sectors}, {moved} bytes moved, {bytes} used"));
        }
    }
    if total.shared.requests > 0 {
        let SharedRequests { requests, wavefronts, .. } = total.shared;
        let conflicts = total.shared.conflicts();
        lines.push(format!(
            "  shared: {requests} requests, {wavefronts} wavefronts, {conflicts} of them bank conflicts"
        ));
    }
    lines
}
