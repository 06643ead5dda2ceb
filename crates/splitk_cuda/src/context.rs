//! CUDA contexts: the caller's, or a device's primary one.

use cudarc::driver::sys;
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as MULTIPROCESSORS,
};

use crate::Error;
use crate::driver::{call, open};

/// Handles of streams that stand for one of whatever context is current: legacy default, legacy and per-thread default.
const STREAMS_OF_ANY_CONTEXT: u64 = 2;

/// A CUDA context and the facts of its device.
///
/// A primary context, which CuPy, torch and everything on the runtime API use, is kept alive by this value. Any other
/// must outlive everything that is made with it.
#[derive(Debug)]
pub struct Context {
    handle: sys::CUcontext,
    device: sys::CUdevice,
    ordinal: u32,
    primary: bool,
    /// Compute capability times ten: 90 for `sm_90`.
    pub arch: u32,
    /// Streaming multiprocessors.
    pub sms: u32,
}

// SAFETY: the handle is a name for an object of the driver, which any thread may use; the driver locks it.
unsafe impl Send for Context {}
// SAFETY: as above; the other fields never change.
unsafe impl Sync for Context {}

impl Context {
    /// Where a decoder is to live: the current context, where it is one of `device` (`None`: of any); else the primary
    /// context of `device`.
    ///
    /// # Errors
    /// As [`Context::current`] and [`Context::primary`].
    pub fn choose(device: Option<u32>) -> Result<Self, Error> {
        let Some(ordinal) = device else { return Self::current() };
        if !current_handle()?.is_null() && current_device()? == ordinal {
            return Self::current();
        }
        Self::primary(ordinal)
    }

    /// The calling thread's current context.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without driver, [`Error::Context`] where no context is current.
    pub fn current() -> Result<Self, Error> {
        let handle = current_handle()?;
        if handle.is_null() {
            return Err(Error::Context(
                "no CUDA context is current on this thread; allowed: a current one, or a device whose primary context is \
                 taken"
                    .to_owned(),
            ));
        }
        let mut device = 0;
        // SAFETY: a context is current; the function writes its device.
        unsafe { call!(cuCtxGetDevice(&raw mut device))? };
        // SAFETY: `device` is a device, as the driver has just said.
        let primary = unsafe { retain(device)? };
        if primary == handle {
            return Self::of(handle, device, true);
        }
        // SAFETY: gives back what `retain` took.
        unsafe { call!(cuDevicePrimaryCtxRelease_v2(device))? };
        Self::of(handle, device, false)
    }

    /// The primary context of a device, made if it is not there yet. It is not made current.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without driver, [`Error::Value`] when there is no such device.
    pub fn primary(ordinal: u32) -> Result<Self, Error> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(match count {
                0 => Error::Unavailable("no CUDA device is visible".to_owned()),
                _ => Error::value("device", ordinal, format!("0 to {}", count - 1)),
            });
        }
        let mut device = 0;
        // SAFETY: the driver is open, and there is such a device.
        unsafe {
            call!(cuDeviceGet(&raw mut device, ordinal as i32))?;
            Self::of(retain(device)?, device, true)
        }
    }

    /// Takes over the reference to a primary context.
    fn of(handle: sys::CUcontext, device: sys::CUdevice, primary: bool) -> Result<Self, Error> {
        // Made first, so that an error below gives a primary context back.
        let mut context = Self { handle, device, ordinal: 0, primary, arch: 0, sms: 0 };
        context.arch = attribute(device, MAJOR)? * 10 + attribute(device, MINOR)?;
        context.sms = attribute(device, MULTIPROCESSORS)?;
        context.ordinal = ordinal_of(device)?;
        Ok(context)
    }

    /// Index of its device.
    pub fn device(&self) -> u32 {
        self.ordinal
    }

    /// Makes it the calling thread's current context.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn make_current(&self) -> Result<(), Error> {
        // SAFETY: the context is alive (see the type).
        unsafe { call!(cuCtxSetCurrent(self.handle)) }
    }

    /// Whether it is the calling thread's current context.
    ///
    /// # Errors
    /// [`Error::Context`] when it is not, in words.
    pub fn require_current(&self) -> Result<(), Error> {
        let current = current_handle()?;
        if current == self.handle {
            return Ok(());
        }
        let device = self.ordinal;
        Err(Error::Context(if current.is_null() {
            format!("no CUDA context is current on this thread; allowed: the decoder's, of device {device}")
        } else {
            let other = current_device()?;
            format!(
                "the current CUDA context is another one, of device {other}; allowed: the decoder's, of device {device}"
            )
        }))
    }

    /// Makes it current until the guard goes, and lets the thread allocate and load although another stream captures.
    pub(crate) fn enter(&self) -> Result<Entered, Error> {
        // SAFETY: the context is alive (see the type).
        unsafe { call!(cuCtxPushCurrent_v2(self.handle))? };
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: swaps the thread's mode with `mode`. What runs while the guard is there does not touch a stream.
        let swapped = unsafe { call!(cuThreadExchangeStreamCaptureMode(&raw mut mode)) };
        let entered = Entered { mode: swapped.is_ok().then_some(mode) };
        swapped.map(|()| entered)
    }

    pub(crate) fn handle(&self) -> sys::CUcontext {
        self.handle
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.primary {
            // SAFETY: gives back the reference that this value was made with. An error (the driver has shut down) leaves
            // nothing to give back.
            unsafe {
                let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
            }
        }
    }
}

/// Puts back what [`Context::enter`] found.
pub(crate) struct Entered {
    mode: Option<sys::CUstreamCaptureMode>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: the thread's mode is swapped back, and the context that was pushed is popped.
        unsafe {
            if let Some(mut mode) = self.mode {
                let _ = call!(cuThreadExchangeStreamCaptureMode(&raw mut mode));
            }
            let _ = call!(cuCtxPopCurrent_v2(&raw mut popped));
        }
    }
}

/// Whether a stream belongs to `context`, which is current.
///
/// # Errors
/// [`Error::Value`] when it belongs to another.
///
/// # Safety
/// `stream` is the handle of a stream that lives: the driver follows it.
pub unsafe fn check_stream(context: &Context, stream: u64) -> Result<(), Error> {
    if stream <= STREAMS_OF_ANY_CONTEXT {
        return Ok(());
    }
    let mut owner = std::ptr::null_mut();
    // SAFETY: the handle is of a stream, says the caller.
    let answer = unsafe { call!(cuStreamGetCtx(stream as sys::CUstream, &raw mut owner)) };
    if answer.is_ok() && owner == context.handle() {
        return Ok(());
    }
    let allowed = format!("a stream of the decoder's context, of device {}", context.device());
    let value = match answer {
        Ok(()) => format!("{stream:#x}, of another context"),
        Err(error) => format!("{stream:#x} ({error})"),
    };
    Err(Error::value("stream", value, allowed))
}

/// Index of the device of the current context.
///
/// # Errors
/// [`Error::Driver`] where no context is current.
pub fn current_device() -> Result<u32, Error> {
    open()?;
    let mut device = 0;
    // SAFETY: writes the device, or reports that no context is current.
    unsafe { call!(cuCtxGetDevice(&raw mut device))? };
    ordinal_of(device)
}

/// Devices that the driver shows.
///
/// # Errors
/// [`Error::Unavailable`] without driver.
pub fn device_count() -> Result<u32, Error> {
    open()?;
    let mut count = 0;
    // SAFETY: writes a number.
    unsafe { call!(cuDeviceGetCount(&raw mut count))? };
    Ok(count.unsigned_abs())
}

fn current_handle() -> Result<sys::CUcontext, Error> {
    open()?;
    let mut handle = std::ptr::null_mut();
    // SAFETY: writes the current context, or null.
    unsafe { call!(cuCtxGetCurrent(&raw mut handle))? };
    Ok(handle)
}

/// # Safety
/// `device` is a device.
unsafe fn retain(device: sys::CUdevice) -> Result<sys::CUcontext, Error> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: says the caller.
    unsafe { call!(cuDevicePrimaryCtxRetain(&raw mut handle, device))? };
    Ok(handle)
}

fn attribute(device: sys::CUdevice, which: sys::CUdevice_attribute) -> Result<u32, Error> {
    let mut value = 0;
    // SAFETY: writes a number, or reports that there is no such device.
    unsafe { call!(cuDeviceGetAttribute(&raw mut value, which, device))? };
    Ok(value.unsigned_abs())
}

/// The index that the driver gives a device by. (That a `CUdevice` is its index is nowhere promised.)
fn ordinal_of(device: sys::CUdevice) -> Result<u32, Error> {
    for ordinal in 0..device_count()? {
        let mut found = 0;
        // SAFETY: there is such a device.
        unsafe { call!(cuDeviceGet(&raw mut found, ordinal as i32))? };
        if found == device {
            return Ok(ordinal);
        }
    }
    Err(Error::Unavailable("the current context's device is not visible".to_owned()))
}
