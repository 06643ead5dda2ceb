//! The CUDA driver: opened at first use, and its answers as errors.

use std::ffi::CStr;
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::Error;

/// Opens the driver, once a process.
///
/// # Errors
/// [`Error::Unavailable`] where there is no driver or it has no device. The first answer is kept: a process does not get
/// a driver later.
pub fn open() -> Result<(), Error> {
    static OPENED: OnceLock<Result<(), Error>> = OnceLock::new();
    OPENED.get_or_init(first_open).clone()
}

fn first_open() -> Result<(), Error> {
    // SAFETY: looks for the library and runs nothing but its initialisers, which is what opening the driver means.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::Unavailable("no CUDA driver: the library libcuda was not found".to_owned()));
    }
    // SAFETY: the library is there; `cuInit` may be called at any time and takes flags 0.
    let answer = unsafe { sys::cuInit(0) };
    checked("cuInit", answer).map_err(|error| Error::Unavailable(format!("no usable CUDA driver: {error}")))
}

/// An answer of the driver's function `call` as a result.
pub fn checked(call: &'static str, answer: sys::CUresult) -> Result<(), Error> {
    if answer == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = std::ptr::null();
    let mut text = std::ptr::null();
    // SAFETY: both only write the address of a constant string, or null, to where they are told; they need no context.
    unsafe {
        let _ = sys::cuGetErrorName(answer, &raw mut name);
        let _ = sys::cuGetErrorString(answer, &raw mut text);
    }
    Err(Error::Driver { call, code: answer as u32, name: constant(name), text: constant(text) })
}

/// A string of the driver's.
fn constant(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return "an unknown error".to_owned();
    }
    // SAFETY: the driver's error strings end with a zero and are never freed.
    one_line(&unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// A text of the driver's on one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Calls a function of the driver; `?` passes on an answer other than success. To be used in `unsafe` blocks.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::checked(stringify!($function), cudarc::driver::sys::$function($($argument),*))
    };
}
pub(crate) use call;
