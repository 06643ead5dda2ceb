//! What the driver knows of an address.

use std::ffi::c_void;

use cudarc::driver::sys;
use cudarc::driver::sys::CUpointer_attribute as Attribute;

use crate::Error;
use crate::driver::{call, open};

/// The device whose memory an address lies in (managed memory counts), or `None` for memory that is not on a device.
///
/// # Errors
/// [`Error::Unavailable`] without driver.
pub fn device_of(address: u64) -> Result<Option<u32>, Error> {
    open()?;
    let mut kind: u32 = 0;
    let mut managed: u32 = 0;
    let mut ordinal: i32 = -1;
    let mut asked = [
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    ];
    let mut places: [*mut c_void; 3] = [(&raw mut kind).cast(), (&raw mut managed).cast(), (&raw mut ordinal).cast()];
    // SAFETY: each place is as large as its attribute (four bytes; a truth value takes one to four, and the rest is 0).
    // The driver does not follow the address; for one that it does not know it writes zeros.
    unsafe {
        call!(cuPointerGetAttributes(asked.len() as u32, asked.as_mut_ptr(), places.as_mut_ptr(), address))?;
    }
    let on_device = kind == sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 || managed != 0;
    Ok(if on_device { u32::try_from(ordinal).ok() } else { None })
}
