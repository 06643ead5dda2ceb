//! The driver's answers: codes of `CUresult`, as `cuda.h` numbers them.

use std::ffi::CStr;

/// Every answer that this driver gives: code, name, text.
const ANSWERS: &[(Answer, &CStr, &CStr)] = &[
    (Answer::Success, c"CUDA_SUCCESS", c"no error"),
    (Answer::InvalidValue, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (Answer::OutOfMemory, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (Answer::NoDevice, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
    (Answer::InvalidDevice, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (Answer::InvalidContext, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (Answer::InvalidPtx, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
    (Answer::InvalidHandle, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (Answer::NotFound, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (Answer::LaunchFailed, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
];

/// A `CUresult`.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NoDevice = 100,
    InvalidDevice = 101,
    InvalidContext = 201,
    InvalidPtx = 218,
    InvalidHandle = 400,
    NotFound = 500,
    LaunchFailed = 719,
}

impl Answer {
    /// Name and text of a code.
    pub fn describe(code: u32) -> Option<(&'static CStr, &'static CStr)> {
        ANSWERS.iter().find(|row| row.0 as u32 == code).map(|row| (row.1, row.2))
    }
}

impl From<Result<(), Answer>> for Answer {
    fn from(result: Result<(), Answer>) -> Self {
        result.err().unwrap_or(Self::Success)
    }
}
