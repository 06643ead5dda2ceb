//! Device memory that a value owns.

use std::sync::Arc;

use cudarc::driver::sys;

use crate::driver::call;
use crate::{Context, Error};

/// Uninitialised device memory, 256-byte aligned, as the driver gives it.
#[derive(Debug)]
pub struct DeviceBuffer {
    address: sys::CUdeviceptr,
    bytes: u64,
    context: Arc<Context>,
}

impl DeviceBuffer {
    /// Allocates memory on the context's device.
    ///
    /// # Errors
    /// [`Error::Driver`], such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn new(context: &Arc<Context>, bytes: u64) -> Result<Self, Error> {
        let _entered = context.enter()?;
        let mut address = 0;
        // SAFETY: the context is current; the function writes an address. (A length of 0 is refused by the driver.)
        unsafe { call!(cuMemAlloc_v2(&raw mut address, bytes as usize))? };
        Ok(Self { address, bytes, context: Arc::clone(context) })
    }

    /// Its address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies from the host, and waits for it.
    ///
    /// # Errors
    /// [`Error::Value`] when the bytes do not fit, [`Error::Driver`].
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.require_room(bytes.len())?;
        let _entered = self.context.enter()?;
        // SAFETY: source and destination hold as many bytes; the copy is done when the function returns.
        unsafe { call!(cuMemcpyHtoD_v2(self.address, bytes.as_ptr().cast(), bytes.len())) }
    }

    /// Copies to the host, after everything on the legacy default stream, and waits for it.
    ///
    /// # Errors
    /// As [`DeviceBuffer::write`].
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.require_room(bytes.len())?;
        let _entered = self.context.enter()?;
        // SAFETY: as above; any bytes are valid.
        unsafe { call!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), self.address, bytes.len())) }
    }

    fn require_room(&self, bytes: usize) -> Result<(), Error> {
        if bytes as u64 <= self.bytes {
            return Ok(());
        }
        Err(Error::value("bytes", bytes, format!("at most {}, the buffer's", self.bytes)))
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // A context that is gone has taken its memory along.
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: allocated by `new` in this context, and freed once; the driver waits for kernels that still use it.
            unsafe {
                let _ = call!(cuMemFree_v2(self.address));
            }
        }
    }
}
