//! `--trace`: one warp, instruction by instruction, with the values of its registers.

use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use ptx_machine::{Scalar, Trace, TraceStep, TraceValue};

use crate::output::WholeFile;
use crate::run::numbers;

/// Options of the trace.
#[derive(Args)]
pub struct TraceOptions {
    /// Tell what one warp executes, with operands and results: BLOCK:WARP, as in 0,0,0:3 or 12:0
    #[arg(long, value_name = "BLOCK:WARP", value_parser = warp)]
    trace: Option<Traced>,
    /// Only instructions on these lines of the source: A-B, or A
    #[arg(long, value_name = "A-B", value_parser = range, requires = "trace")]
    trace_lines: Option<RangeInclusive<u32>>,
    /// Only the values of these lanes: A-B, or A
    #[arg(long, value_name = "A-B", value_parser = range, requires = "trace")]
    trace_lanes: Option<RangeInclusive<u32>>,
    /// At most so many instructions
    #[arg(long, value_name = "N", requires = "trace")]
    trace_limit: Option<u64>,
    /// Where the trace goes, instead of standard output
    #[arg(long, value_name = "FILE", requires = "trace")]
    trace_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
struct Traced {
    block: [u32; 3],
    warp: u32,
}

fn warp(text: &str) -> Result<Traced, String> {
    let allowed = "allowed: BLOCK:WARP, as in 0,0,0:3 or 12:0";
    let (block, warp) = text.rsplit_once(':').ok_or(allowed)?;
    let warp = warp.parse().map_err(|_| format!("warp {warp:?} is no whole number; {allowed}"))?;
    Ok(Traced { block: numbers(block, 0).map_err(|_| format!("block {block:?} is none; {allowed}"))?, warp })
}

fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from <= to => Ok(from..=to),
        _ => Err("allowed: A-B with A no larger than B, or A".to_owned()),
    }
}

impl TraceOptions {
    /// Refuses a warp that the launch does not have.
    pub fn check(&self, grid: [u32; 3], block: [u32; 3]) -> Result<(), String> {
        let Some(Traced { block: at, warp }) = self.trace else { return Ok(()) };
        let warps = block.iter().map(|&n| u64::from(n)).product::<u64>().div_ceil(32);
        if at.iter().zip(&grid).all(|(at, n)| at < n) && u64::from(warp) < warps {
            return Ok(());
        }
        let shown = |x: [u32; 3]| format!("{},{},{}", x[0], x[1], x[2]);
        let last = shown(grid.map(|n| n.saturating_sub(1)));
        let most = warps.saturating_sub(1);
        Err(format!(
            "--trace: {}:{warp} is not in the launch; allowed: blocks 0,0,0 to {last}, warps 0 to {most}",
            shown(at)
        ))
    }

    /// Where the trace goes, if there is one. JSON on standard output leaves no room for it there.
    pub fn sink(&self, json: bool) -> Result<Option<Sink>, String> {
        let Some(traced) = self.trace else { return Ok(None) };
        let out: Out = match &self.trace_file {
            Some(file) => Out::File(WholeFile::create(file)?),
            None if json => {
                return Err("--trace: goes to standard output, as --json does; allowed with --trace-file".to_owned());
            }
            None => Out::Standard(BufWriter::new(std::io::stdout())),
        };
        let lanes = self.trace_lanes.clone().unwrap_or(0..=31);
        Ok(Some(Sink {
            traced,
            lines: self.trace_lines.clone().unwrap_or(0..=u32::MAX),
            limit: self.trace_limit.unwrap_or(u64::MAX),
            lanes: lanes.fold(0, |mask, lane| mask | 1u32.checked_shl(lane).unwrap_or(0)),
            out: Mutex::new((out, Ok(()))),
        }))
    }
}

enum Out {
    File(WholeFile),
    Standard(BufWriter<std::io::Stdout>),
}

impl Out {
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.write_all(text.as_bytes()),
            Self::Standard(out) => out.write_all(text.as_bytes()),
        }
    }
}

/// A trace under way, and the first error in writing it.
pub struct Sink {
    traced: Traced,
    lines: RangeInclusive<u32>,
    limit: u64,
    lanes: u32,
    out: Mutex<(Out, std::io::Result<()>)>,
}

impl Sink {
    /// The trace for the launch.
    pub fn trace(&self) -> Trace<'_> {
        let Traced { block, warp } = self.traced;
        let tell = move |step: &TraceStep| {
            let text = show(step, self.lanes);
            let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
            if out.1.is_ok() {
                out.1 = out.0.write(&text);
            }
        };
        Trace { lines: self.lines.clone(), limit: self.limit, ..Trace::new(block, warp, tell) }
    }

    /// Flushes the output, and puts a file in its place. A reader of standard output that has left early is no failure.
    pub fn finish(self) -> Result<(), String> {
        let (out, written) = self.out.into_inner().unwrap_or_else(PoisonError::into_inner);
        let refuse = |e: std::io::Error| format!("--trace: {e}");
        match out {
            Out::File(file) => written.map_err(refuse).and_then(|()| file.finish()),
            Out::Standard(mut out) => match written.and_then(|()| out.flush()) {
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(refuse(e)),
                _ => Ok(()),
            },
        }
    }
}

/// A step in two to four lines: the instruction, what it reads, what it writes.
fn show(step: &TraceStep, lanes: u32) -> String {
    let by = if step.executed == step.arrived {
        format!("{:08x}", step.arrived)
    } else {
        format!("{:08x} of {:08x}", step.executed, step.arrived)
    };
    let executed = if step.executed == 0 { step.arrived } else { step.executed };
    let shown = |sign: &str, value: &TraceValue| {
        format!("     {sign} {} = {}\n", value.name, show_value(value, executed & lanes))
    };
    let reads = step.reads.iter().map(|value| shown("  ", value));
    let writes = step.writes.iter().map(|value| shown("->", value));
    let head = format!("#{} line {} lanes {by}: {}\n", step.number, step.line, step.instruction);
    std::iter::once(head).chain(reads).chain(writes).collect()
}

/// The value in the lanes of `mask`: once where they agree, as a progression, or lane by lane.
fn show_value(value: &TraceValue, mask: u32) -> String {
    let lanes: Vec<u32> = (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
    if value.ty == Scalar::Pred && value.known & mask == mask {
        let held = lanes.iter().fold(0u32, |held, &lane| held | (value.bits[lane as usize] as u32 & 1) << lane);
        return match held {
            0 => "false".to_owned(),
            held if held == mask => "true".to_owned(),
            held => format!("true in lanes {held:08x}"),
        };
    }
    let shown: Vec<String> = lanes.iter().map(|&lane| show_lane(value, lane)).collect();
    match shown.as_slice() {
        [] => "(no lane)".to_owned(),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => first.clone(),
        _ => progression(value, &lanes).unwrap_or_else(|| runs(&lanes, &shown)),
    }
}

/// `a + s*lane`, for at least three lanes of whole numbers that have it so.
fn progression(value: &TraceValue, lanes: &[u32]) -> Option<String> {
    let &[first, second, _, ..] = lanes else { return None };
    let (a, b) = (whole(value, first)?, whole(value, second)?);
    let (rise, run) = (b - a, i128::from(second - first));
    let step = (rise % run == 0).then_some(rise / run)?;
    let origin = a - step * i128::from(first);
    let holds = lanes.iter().all(|&lane| whole(value, lane) == Some(origin + step * i128::from(lane)));
    let sign = if step < 0 { "-" } else { "+" };
    let each = if step.abs() == 1 { String::new() } else { format!("{}*", step.abs()) };
    let is_float = matches!(value.ty, Scalar::F32 | Scalar::F64);
    let start = match (origin, is_float) {
        (0, false) => String::new(),
        (_, false) => format!("{} {sign} ", show_integer(value.ty, origin)),
        (_, true) => format!("{origin}.0 {sign} "),
    };
    // A negative step from zero leaves the numbers that are counted in.
    (holds && (origin > 0 || origin == 0 && step > 0)).then(|| format!("{start}{each}lane"))
}

/// Lane by lane, neighbours with one value together.
fn runs(lanes: &[u32], shown: &[String]) -> String {
    let mut parts: Vec<(u32, u32, &str)> = Vec::new();
    for (&lane, text) in lanes.iter().zip(shown) {
        match parts.last_mut() {
            Some((_, last, same)) if *same == text.as_str() && *last + 1 == lane => *last = lane,
            _ => parts.push((lane, lane, text)),
        }
    }
    let part = |&(from, to, text): &(u32, u32, &str)| {
        if from == to { format!("{from}: {text}") } else { format!("{from}-{to}: {text}") }
    };
    format!("{{{}}}", parts.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// The whole number in a lane; `None` if it is none, or was never written.
fn whole(value: &TraceValue, lane: u32) -> Option<i128> {
    let bits = value.bits[lane as usize];
    // Every whole number below 2^24 is an f32; negative zero is not the zero that a progression has.
    let exact = |x: f64| (x.fract() == 0.0 && x.abs() < 16_777_216.0 && x.to_bits() != 1 << 63).then_some(x as i128);
    let number = match value.ty {
        Scalar::S16 => i128::from(bits as u16 as i16),
        Scalar::S32 => i128::from(bits as u32 as i32),
        Scalar::S64 => i128::from(bits as i64),
        Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::B16 | Scalar::B32 | Scalar::B64 => i128::from(bits),
        Scalar::F32 => exact(f64::from(f32::from_bits(bits as u32)))?,
        Scalar::F64 => exact(f64::from_bits(bits))?,
        _ => return None,
    };
    (value.known >> lane & 1 != 0).then_some(number)
}

fn show_lane(value: &TraceValue, lane: u32) -> String {
    let bits = value.bits[lane as usize];
    if value.known >> lane & 1 == 0 {
        return "?".to_owned();
    }
    match value.ty {
        Scalar::Pred => (bits != 0).to_string(),
        Scalar::F32 if f32::from_bits(bits as u32).is_nan() => format!("NaN {:#010x}", bits as u32),
        Scalar::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Scalar::F64 if f64::from_bits(bits).is_nan() => format!("NaN {bits:#018x}"),
        Scalar::F64 => format!("{:?}", f64::from_bits(bits)),
        ty => whole(value, lane).map_or_else(|| format!("{bits:#x}"), |number| show_integer(ty, number)),
    }
}

/// Untyped bits, and what is likely an address, in hexadecimal.
fn show_integer(ty: Scalar, number: i128) -> String {
    let is_bits = matches!(ty, Scalar::B16 | Scalar::B32 | Scalar::B64);
    if is_bits && number > 9 || number >= 1 << 32 { format!("{number:#x}") } else { number.to_string() }
}
