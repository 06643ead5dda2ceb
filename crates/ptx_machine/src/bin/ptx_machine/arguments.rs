//! Kernel arguments as the command line writes them.

use std::path::PathBuf;
use std::str::FromStr;

use npyz::TypeStr;
use ptx_machine::{AllocOptions, Arg, Memory};

use crate::npy::{self, Buffer};

/// What an argument may be.
const ALLOWED: &str = "a number, TYPE:NUMBER, in:FILE.npy, inout:FILE.npy, out:FILE.npy:DTYPE:N[xM…]";

/// One `--arg`.
#[derive(Debug, Clone)]
pub enum Argument {
    Value(Arg),
    /// A buffer that the kernel may read, and write where `back` says so.
    Input {
        file: PathBuf,
        back: bool,
    },
    /// A buffer that the kernel is to write.
    Output {
        file: PathBuf,
        dtype: TypeStr,
        shape: Vec<u64>,
    },
}

/// An argument with its buffer in memory.
pub struct Placed {
    pub arg: Arg,
    /// Goes to its file after the run.
    pub written: Option<Buffer>,
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None => Ok(Self::Value(number(text)?)),
            Some(("in", file)) => Ok(Self::Input { file: file.into(), back: false }),
            Some(("inout", file)) => Ok(Self::Input { file: file.into(), back: true }),
            Some(("out", rest)) => output(rest),
            Some((ty, value)) => number(value)?.typed(ty).map(Self::Value).map_err(|e| e.to_string()),
        }
    }
}

fn number(text: &str) -> Result<Arg, String> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let integer = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    let float = || text.parse().ok().map(Arg::float);
    integer
        .map(|v: i128| Arg::int(sign * v))
        .or_else(float)
        .ok_or_else(|| format!("{text:?} is no number; allowed: {ALLOWED}"))
}

/// `FILE:DTYPE:SHAPE`.
fn output(text: &str) -> Result<Argument, String> {
    let refuse = || format!("out:{text} is no output; allowed: out:FILE.npy:DTYPE:N[xM…], such as out:o.npy:f4:16x256");
    let (rest, shape) = text.rsplit_once(':').ok_or_else(refuse)?;
    let (file, dtype) = rest.rsplit_once(':').ok_or_else(refuse)?;
    let order = if dtype.starts_with(['<', '|']) {
        ""
    } else if dtype.ends_with('1') {
        "|"
    } else {
        "<"
    };
    let dtype: TypeStr = format!("{order}{dtype}").parse().map_err(|_| refuse())?;
    let shape: Vec<u64> = shape.split('x').map(|n| n.parse().map_err(|_| refuse())).collect::<Result<_, _>>()?;
    match npy::size(&dtype, &shape) {
        Some(bytes) if bytes <= 1 << 36 => Ok(Argument::Output { file: file.into(), dtype, shape }),
        _ => Err(format!("out:{text} is too large; allowed: 64 GiB")),
    }
}

impl Argument {
    /// Puts the argument's buffer into memory.
    ///
    /// # Errors
    /// One line that names the file, or what does not fit.
    pub fn place(&self, memory: &mut Memory) -> Result<Placed, String> {
        match self {
            Self::Value(arg) => Ok(Placed { arg: arg.clone(), written: None }),
            Self::Input { file, back } => {
                let (bytes, dtype, shape) = npy::load(file)?;
                let options = AllocOptions { initialised: true, writable: *back };
                let address = memory.alloc(&name(file), &bytes, options).map_err(|e| e.to_string())?;
                let buffer = Buffer { file: file.clone(), dtype, shape, address };
                Ok(Placed { arg: Arg::int(address.into()), written: back.then_some(buffer) })
            }
            Self::Output { file, dtype, shape } => {
                let size = npy::size(dtype, shape).unwrap_or(0);
                let address = memory.alloc_uninit(&name(file), size as usize).map_err(|e| e.to_string())?;
                let buffer = Buffer { file: file.clone(), dtype: dtype.clone(), shape: shape.clone(), address };
                Ok(Placed { arg: Arg::int(address.into()), written: Some(buffer) })
            }
        }
    }
}

/// What faults call the buffer of a file.
fn name(file: &std::path::Path) -> String {
    file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
