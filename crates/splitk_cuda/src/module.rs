//! A loaded PTX module and launches of its kernels.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys;

use crate::driver::{call, one_line};
use crate::{Context, Error};

/// All of a multiprocessor's memory that may be shared memory, in percent.
const MOST_SHARED: i32 = 100;

/// A launch may ask for this much dynamic shared memory without the function's leave.
const SHARED_WITHOUT_LEAVE: u32 = 48 * 1024;
/// Room for what the driver's assembler has to say of a text that it refuses.
const LOG_BYTES: usize = 4096;

/// A kernel, ready to launch, the dynamic shared memory of its launches, and whether they are programmatic.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    handle: sys::CUfunction,
    dynamic_shared_bytes: u32,
    programmatic: bool,
}

/// A PTX module in a context.
#[derive(Debug)]
pub struct Module {
    handle: sys::CUmodule,
    context: Arc<Context>,
}

// SAFETY: handles are names for objects of the driver, which any thread may use; the driver locks them.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}
// SAFETY: as above.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Module {
    /// Assembles a PTX text for the context's device and loads it. `name` is what an error calls it.
    pub fn load(context: &Arc<Context>, name: &str, text: &str) -> Result<Self, Error> {
        let text = CString::new(text).map_err(|_| Error::PtxSet(format!("{name} holds a zero byte")))?;
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let mut handle = std::ptr::null_mut();
        let _entered = context.enter()?;
        // SAFETY: the text ends with a zero; the log has the length that is said of it (an option's value is passed in
        // place of a pointer, as the driver wants it); a context is current.
        let loaded = unsafe {
            call!(cuModuleLoadDataEx(
                &raw mut handle,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            ))
        };
        loaded.map_err(|error| with_log(name, error, &log))?;
        Ok(Self { handle, context: Arc::clone(context) })
    }

    /// The kernel `entry`, with leave to use that much dynamic shared memory. `programmatic`: it waits for the kernel
    /// before it on the stream (`griddepcontrol.wait`), and so may start before that has ended.
    pub fn function(&self, entry: &str, dynamic_shared_bytes: u32, programmatic: bool) -> Result<Function, Error> {
        let name = CString::new(entry).map_err(|_| Error::PtxSet(format!("{entry:?} is no kernel's name")))?;
        let mut handle = std::ptr::null_mut();
        let _entered = self.context.enter()?;
        // SAFETY: the module is loaded, the name ends with a zero, and the function belongs to the module.
        unsafe {
            call!(cuModuleGetFunction(&raw mut handle, self.handle, name.as_ptr()))?;
            if dynamic_shared_bytes > SHARED_WITHOUT_LEAVE {
                let leave = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                call!(cuFuncSetAttribute(handle, leave, dynamic_shared_bytes as i32))?;
            }
            if programmatic {
                // A multiprocessor divides its memory into L1 and shared anew only when it is empty, and blocks of
                // these kernels are to start beside those of the one before: with the least division that one of them
                // needs there may be no room.
                let division = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
                call!(cuFuncSetAttribute(handle, division, MOST_SHARED))?;
            }
        }
        Ok(Function { handle, dynamic_shared_bytes, programmatic })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // A context that is gone has taken its modules along.
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: loaded by `load` in this context, and unloaded once; whoever owns the module has no launch to come.
            unsafe {
                let _ = call!(cuModuleUnload(self.handle));
            }
        }
    }
}

impl Function {
    /// Queues a launch on a stream of the current context.
    ///
    /// Where it is programmatic, the kernel may start while the kernel before it on the stream still runs. It waits
    /// itself until that has ended and what it wrote is visible, so results are those of a plain launch. Where the
    /// operation before it is no kernel, it is a plain launch. A stream that is captured keeps the edge in the graph.
    ///
    /// # Safety
    /// The function's module is loaded in the current context; `stream` is a stream of it; `arguments` point to values of
    /// the kernel's parameters, in their order; the kernel may do what it does with them.
    pub unsafe fn launch(
        &self,
        (grid, block): ([u32; 3], [u32; 3]),
        stream: u64,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        if self.programmatic {
            // SAFETY: says the caller.
            return unsafe { self.launch_programmatic((grid, block), stream, arguments) };
        }
        let [grid_x, grid_y, grid_z] = grid;
        let [block_x, block_y, block_z] = block;
        let shared = self.dynamic_shared_bytes;
        // SAFETY: says the caller. The driver copies the arguments before it returns.
        unsafe {
            call!(cuLaunchKernel(
                self.handle,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                shared,
                stream as sys::CUstream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            ))
        }
    }

    /// # Safety
    /// As [`Function::launch`].
    unsafe fn launch_programmatic(
        &self,
        (grid, block): ([u32; 3], [u32; 3]),
        stream: u64,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
        value.programmaticStreamSerializationAllowed = 1;
        let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        let mut attribute = sys::CUlaunchAttribute { id, pad: [0; 4], value };
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: self.dynamic_shared_bytes,
            hStream: stream as sys::CUstream,
            attrs: &raw mut attribute,
            numAttrs: 1,
        };
        // SAFETY: says the caller. The configuration and its one attribute, whose value is the one that its id asks for,
        // live until the driver returns; it copies them and the arguments before.
        unsafe { call!(cuLaunchKernelEx(&raw const config, self.handle, arguments.as_mut_ptr(), std::ptr::null_mut())) }
    }
}

/// The error of a load, with the first that the assembler said.
fn with_log(name: &str, error: Error, log: &[u8]) -> Error {
    let said: Vec<u8> = log.iter().copied().take_while(|byte| *byte != 0).collect();
    let said = one_line(&String::from_utf8_lossy(&said));
    match error {
        Error::Driver { call, code, name: word, text } => {
            let text = if said.is_empty() { format!("{text} ({name})") } else { format!("{text} ({name}: {said})") };
            Error::Driver { call, code, name: word, text }
        }
        other => other,
    }
}
