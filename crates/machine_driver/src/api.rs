//! The driver's functions, by its names and with its interface; `cuda.h` says what each does.

// Interface and safety of every function are the driver's: pointers are valid for what it reads or writes there.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_void};

use ptx_machine::{Arg, LaunchConfig};

use crate::answer::Answer;
use crate::state::{self, Counts, MULTIPROCESSORS, with};

// Numbers of `cuda.h`.
const ATTRIBUTE_MULTIPROCESSORS: i32 = 16;
const ATTRIBUTE_MAJOR: i32 = 75;
const ATTRIBUTE_MINOR: i32 = 76;
const FUNCTION_DYNAMIC_SHARED: i32 = 8;
const FUNCTION_SHARED_CARVEOUT: i32 = 9;
const JIT_ERROR_LOG: u32 = 5;
const JIT_ERROR_LOG_BYTES: u32 = 6;
const POINTER_MEMORY_TYPE: u32 = 2;
const POINTER_IS_MANAGED: u32 = 8;
const POINTER_DEVICE: u32 = 9;
const MEMORY_TYPE_DEVICE: u32 = 2;
const NO_DEVICE: i32 = -2;
const SYMBOL_FOUND: u32 = 0;
const SYMBOL_NOT_FOUND: u32 = 1;
const LAUNCH_IGNORE: u32 = 0;
const LAUNCH_PROGRAMMATIC: u32 = 6;

/// `CUlaunchAttribute`.
#[repr(C)]
struct LaunchAttribute {
    id: u32,
    _pad: [u8; 4],
    /// The value's first word, of the 64 bytes that its union takes.
    value: i32,
    _rest: [u8; 60],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchShape {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    stream: usize,
    attributes: *const LaunchAttribute,
    count: u32,
}

impl LaunchShape {
    /// Whether the launch is programmatic; an error for an attribute that this driver does not have.
    ///
    /// # Safety
    /// There are as many attributes as it says.
    unsafe fn is_programmatic(&self) -> Result<bool, Answer> {
        (0..self.count as usize).try_fold(false, |found, index| {
            // SAFETY: says the caller.
            let attribute = unsafe { &*self.attributes.add(index) };
            match attribute.id {
                LAUNCH_IGNORE => Ok(found),
                LAUNCH_PROGRAMMATIC => Ok(attribute.value != 0),
                _ => Err(Answer::InvalidValue),
            }
        })
    }
}

/// Writes a result where the caller wants it.
///
/// # Safety
/// `place` is valid for a write of `T`.
unsafe fn put<T>(place: *mut T, result: Result<T, Answer>) -> Answer {
    match result {
        Ok(value) => {
            // SAFETY: says the caller.
            unsafe { place.write(value) };
            Answer::Success
        }
        Err(answer) => answer,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: u32) -> Answer {
    with(|state| if state.devices() == 0 { Err(Answer::NoDevice) } else { Ok(()) }).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: u32, text: *mut *const c_char) -> Answer {
    let known = Answer::describe(code).map(|(name, _)| name.as_ptr());
    // SAFETY: the driver's interface.
    unsafe { put(text, known.ok_or(Answer::InvalidValue)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: u32, text: *mut *const c_char) -> Answer {
    let known = Answer::describe(code).map(|(_, text)| text.as_ptr());
    // SAFETY: the driver's interface.
    unsafe { put(text, known.ok_or(Answer::InvalidValue)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut i32) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(count, with(|state| Ok(state.devices() as i32))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut i32, ordinal: i32) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(device, with(|state| state.arch(ordinal).map(|_| ordinal))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) -> Answer {
    let found = with(|state| {
        let arch = state.arch(device)? as i32;
        match attribute {
            ATTRIBUTE_MAJOR => Ok(arch / 10),
            ATTRIBUTE_MINOR => Ok(arch % 10),
            ATTRIBUTE_MULTIPROCESSORS => Ok(MULTIPROCESSORS),
            _ => Err(Answer::InvalidValue),
        }
    });
    // SAFETY: the driver's interface.
    unsafe { put(value, found) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: i32) -> Answer {
    let retained = with(|state| {
        state.counts.retained += 1;
        state.primary(device)
    });
    // SAFETY: the driver's interface.
    unsafe { put(context, retained) }
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: i32) -> Answer {
    with(|state| {
        state.primary(device)?;
        state.counts.retained = state.counts.retained.checked_sub(1).ok_or(Answer::InvalidContext)?;
        Ok(())
    })
    .into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxCreate_v2(context: *mut usize, _flags: u32, device: i32) -> Answer {
    let made = with(|state| state.create_context(device)).inspect(|context| state::push(*context));
    // SAFETY: the driver's interface.
    unsafe { put(context, made) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(context, Ok(state::current())) }
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> Answer {
    state::set_current(context);
    Answer::Success
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(context: usize) -> Answer {
    with(|state| state.device_of(context).map(|_| state::push(context))).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut usize) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(context, state::pop()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice(device: *mut i32) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(device, with(|state| state.device_of(state::current()).map(|device| device as i32))) }
}

#[unsafe(no_mangle)]
extern "C" fn cuThreadExchangeStreamCaptureMode(_mode: *mut u32) -> Answer {
    Answer::Success
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(address, with(|state| state.allocate(bytes))) }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> Answer {
    with(|state| state.free(address)).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(address: u64, bytes: *const u8, count: usize) -> Answer {
    // SAFETY: the driver's interface.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, count) };
    with(|state| state.write(address, bytes)).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(bytes: *mut u8, address: u64, count: usize) -> Answer {
    // SAFETY: the driver's interface.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, count) };
    with(|state| state.read(address, bytes)).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuPointerGetAttributes(
    count: u32,
    attributes: *const u32,
    places: *const *mut c_void,
    address: u64,
) -> Answer {
    with(|state| {
        let device = state.device_of_address(address);
        for index in 0..count as usize {
            // SAFETY: the driver's interface: both lists have `count` elements, each place room for its attribute.
            unsafe {
                let place = *places.add(index);
                match *attributes.add(index) {
                    POINTER_MEMORY_TYPE => place.cast::<u32>().write(device.map_or(0, |_| MEMORY_TYPE_DEVICE)),
                    POINTER_IS_MANAGED => place.cast::<bool>().write(false),
                    POINTER_DEVICE => place.cast::<i32>().write(device.map_or(NO_DEVICE, |device| device as i32)),
                    _ => return Err(Answer::InvalidValue),
                }
            }
        }
        Ok(())
    })
    .into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut usize,
    text: *const c_char,
    options: u32,
    keys: *const u32,
    values: *const *mut c_void,
) -> Answer {
    // SAFETY: the driver's interface: PTX ends with a zero.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    let mut said = String::new();
    let loaded = with(|state| {
        state.load(text).map_err(|(answer, why)| {
            said = why;
            answer
        })
    });
    let (mut log, mut room) = (std::ptr::null_mut::<u8>(), 0);
    for index in 0..options as usize {
        // SAFETY: the driver's interface: both lists have `options` elements.
        unsafe {
            match *keys.add(index) {
                JIT_ERROR_LOG => log = (*values.add(index)).cast(),
                JIT_ERROR_LOG_BYTES => room = *values.add(index) as usize,
                _ => {}
            }
        }
    }
    if !log.is_null() && room > 0 {
        let length = said.len().min(room - 1);
        // SAFETY: the driver's interface: the log has `room` bytes.
        unsafe {
            log.copy_from_nonoverlapping(said.as_ptr(), length);
            log.add(length).write(0);
        }
    }
    // SAFETY: the driver's interface.
    unsafe { put(module, loaded) }
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: usize) -> Answer {
    with(|state| state.unload(module)).into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> Answer {
    // SAFETY: the driver's interface: a name ends with a zero.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    // SAFETY: the driver's interface.
    unsafe { put(function, with(|state| state.function(module, &name))) }
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(function: usize, attribute: i32, value: i32) -> Answer {
    with(|state| match (attribute, u32::try_from(value)) {
        (FUNCTION_DYNAMIC_SHARED, Ok(bytes)) => state.give_leave(function, bytes),
        // A preference in percent, which changes no result; the machine has no L1 to divide.
        (FUNCTION_SHARED_CARVEOUT, Ok(0..=100)) => state.known(function),
        _ => Err(Answer::InvalidValue),
    })
    .into()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut usize, _flags: u32) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(stream, with(state::State::create_stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamGetCtx(stream: usize, context: *mut usize) -> Answer {
    // SAFETY: the driver's interface.
    unsafe { put(context, with(|state| state.context_of_stream(stream))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    dynamic_shared: u32,
    stream: usize,
    arguments: *const *const u8,
    _extra: *mut *mut c_void,
) -> Answer {
    let shape = LaunchConfig::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    // SAFETY: the driver's interface.
    unsafe { launch(function, &LaunchConfig { dynamic_shared, ..shape }, arguments, stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernelEx(
    shape: *const LaunchShape,
    function: usize,
    arguments: *const *const u8,
    _extra: *mut *mut c_void,
) -> Answer {
    // SAFETY: the driver's interface.
    let (shape, programmatic) = unsafe { (&*shape, (*shape).is_programmatic()) };
    let programmatic = match programmatic {
        Ok(programmatic) => programmatic,
        Err(answer) => return answer,
    };
    let config = LaunchConfig {
        dynamic_shared: shape.dynamic_shared,
        programmatic,
        ..LaunchConfig::new(shape.grid, shape.block)
    };
    // SAFETY: the driver's interface.
    unsafe { launch(function, &config, arguments, shape.stream) }
}

/// The address of a function by its name, for a library that asks for all of the driver's and lives without most: of
/// those, `cuLaunchKernelEx` is here.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    function: *mut *const c_void,
    _version: i32,
    _flags: u64,
    found: *mut u32,
) -> Answer {
    // SAFETY: the driver's interface: a name ends with a zero.
    let is_here = unsafe { CStr::from_ptr(name) } == c"cuLaunchKernelEx";
    if !found.is_null() {
        // SAFETY: the driver's interface: where it is given, it has room for the status.
        unsafe { found.write(if is_here { SYMBOL_FOUND } else { SYMBOL_NOT_FOUND }) };
    }
    let address = if is_here { cuLaunchKernelEx as *const c_void } else { std::ptr::null() };
    // SAFETY: the driver's interface.
    unsafe { put(function, Ok(address)) }
}

/// Runs a kernel.
///
/// # Safety
/// There is one pointer a parameter of the function's, each to its bytes.
unsafe fn launch(function: usize, config: &LaunchConfig, arguments: *const *const u8, stream: usize) -> Answer {
    with(|state| {
        let mut args = Vec::new();
        for (index, bytes) in state.parameters(function)?.into_iter().enumerate() {
            // SAFETY: says the caller.
            let value = unsafe { std::slice::from_raw_parts(*arguments.add(index), bytes as usize) };
            args.push(Arg::bytes(value.to_vec()));
        }
        state.launch(function, config, &args, stream)
    })
    .into()
}

/// What this process has allocated, loaded and launched. (Not a function of the driver's.)
#[unsafe(no_mangle)]
unsafe extern "C" fn machineDriverCounts(counts: *mut Counts) -> Answer {
    // SAFETY: the caller's struct has this layout.
    unsafe { put(counts, with(|state| Ok(state.counts))) }
}
