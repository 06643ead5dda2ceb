//! Devices, contexts, memory, modules and streams of the process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_machine::{Arg, LaunchConfig, Memory, Module};

use crate::answer::Answer;

const DEVICES: &str = "MACHINE_DRIVER_DEVICES";
const DEFAULT_DEVICES: &str = "90";
/// Multiprocessors of each device.
pub const MULTIPROCESSORS: i32 = 132;
/// A launch may ask for this much dynamic shared memory without the function's leave.
const SHARED_WITHOUT_LEAVE: u32 = 48 * 1024;
/// Handles from here on are streams, functions and modules; contexts lie below.
const FIRST_HANDLE: usize = 0x10_0000;

static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// Handles of the thread's contexts, the current one last; 0 is none.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// What a test may count.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Counts {
    /// Allocations.
    pub allocations: u64,
    /// Allocations that were freed.
    pub frees: u64,
    /// Modules loaded.
    pub loads: u64,
    /// Modules unloaded.
    pub unloads: u64,
    /// Launches.
    pub launches: u64,
    /// Primary contexts retained and not released.
    pub retained: u64,
    /// Launches that were programmatic.
    pub programmatic: u64,
}

/// A kernel of a loaded module.
#[derive(Debug, Clone)]
struct Function {
    module: usize,
    entry: String,
    shared_leave: u32,
}

/// Everything that is not a thread's own.
#[derive(Default)]
pub struct State {
    archs: Vec<u32>,
    /// Device of each context that was made, by handle less 1 and the number of devices; before them the primary ones.
    contexts: Vec<usize>,
    memory: Memory,
    /// Device and length of live allocations, by address.
    allocations: HashMap<u64, (usize, usize)>,
    modules: HashMap<usize, (usize, Module)>,
    functions: HashMap<usize, Function>,
    /// Context of each stream.
    streams: HashMap<usize, usize>,
    handles: usize,
    pub counts: Counts,
}

/// The process's state, made at first use.
pub fn with<T>(work: impl FnOnce(&mut State) -> Result<T, Answer>) -> Result<T, Answer> {
    let mut guard: MutexGuard<'_, Option<State>> = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    work(guard.get_or_insert_with(State::from_environment))
}

/// The thread's current context; 0 is none.
pub fn current() -> usize {
    CURRENT.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// Replaces the thread's current context.
pub fn set_current(context: usize) {
    CURRENT.with_borrow_mut(|stack| {
        stack.pop();
        stack.push(context);
    });
}

/// Makes a context current until it is popped.
pub fn push(context: usize) {
    CURRENT.with_borrow_mut(|stack| stack.push(context));
}

/// Goes back to the context before; returns the one that was current.
pub fn pop() -> Result<usize, Answer> {
    CURRENT.with_borrow_mut(Vec::pop).ok_or(Answer::InvalidContext)
}

impl State {
    fn from_environment() -> Self {
        let list = std::env::var(DEVICES).unwrap_or_else(|_| DEFAULT_DEVICES.to_owned());
        let archs: Vec<u32> = list.split(',').filter_map(|arch| arch.trim().parse().ok()).collect();
        let contexts = (0..archs.len()).collect();
        Self { archs, contexts, handles: FIRST_HANDLE, ..Self::default() }
    }

    pub fn devices(&self) -> usize {
        self.archs.len()
    }

    pub fn arch(&self, device: i32) -> Result<u32, Answer> {
        usize::try_from(device).ok().and_then(|d| self.archs.get(d)).copied().ok_or(Answer::InvalidDevice)
    }

    /// The primary context of a device.
    pub fn primary(&self, device: i32) -> Result<usize, Answer> {
        self.arch(device)?;
        Ok(device as usize + 1)
    }

    /// A new context of a device.
    pub fn create_context(&mut self, device: i32) -> Result<usize, Answer> {
        self.arch(device)?;
        self.contexts.push(device as usize);
        Ok(self.contexts.len())
    }

    /// The device of a context.
    pub fn device_of(&self, context: usize) -> Result<usize, Answer> {
        context.checked_sub(1).and_then(|index| self.contexts.get(index)).copied().ok_or(Answer::InvalidContext)
    }

    fn handle(&mut self) -> usize {
        self.handles += 0x100;
        self.handles
    }

    pub fn allocate(&mut self, bytes: usize) -> Result<u64, Answer> {
        let device = self.device_of(current())?;
        if bytes == 0 {
            return Err(Answer::InvalidValue);
        }
        let name = format!("allocation {}", self.counts.allocations);
        let address = self.memory.alloc_uninit(&name, bytes).map_err(|_| Answer::OutOfMemory)?;
        self.allocations.insert(address, (device, bytes));
        self.counts.allocations += 1;
        Ok(address)
    }

    pub fn free(&mut self, address: u64) -> Result<(), Answer> {
        self.device_of(current())?;
        self.allocations.remove(&address).ok_or(Answer::InvalidValue)?;
        self.counts.frees += 1;
        Ok(())
    }

    /// The device whose memory an address lies in.
    pub fn device_of_address(&self, address: u64) -> Option<usize> {
        let holds = |(base, (_, bytes)): &(&u64, &(usize, usize))| (**base..**base + *bytes as u64).contains(&address);
        self.allocations.iter().find(holds).map(|(_, (device, _))| *device)
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Answer> {
        self.memory.write(address, bytes).map_err(|_| Answer::InvalidValue)
    }

    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Answer> {
        self.memory.read(address, bytes).map_err(|_| Answer::InvalidValue)
    }

    /// Loads a module into the current context; a refusal comes with the machine's line.
    pub fn load(&mut self, text: &[u8]) -> Result<usize, (Answer, String)> {
        let context = current();
        let device = self.device_of(context).map_err(|answer| (answer, String::new()))?;
        let refuse = |why: String| (Answer::InvalidPtx, why);
        let module = Module::parse(text, "module", true).map_err(|error| refuse(error.to_string()))?;
        let target = module.target().trim_start_matches("sm_").parse().unwrap_or(u32::MAX);
        if target > self.archs[device] {
            return Err(refuse(format!("{} is newer than the device, sm_{}", module.target(), self.archs[device])));
        }
        let handle = self.handle();
        self.modules.insert(handle, (context, module));
        self.counts.loads += 1;
        Ok(handle)
    }

    pub fn unload(&mut self, module: usize) -> Result<(), Answer> {
        self.modules.remove(&module).ok_or(Answer::InvalidHandle)?;
        self.functions.retain(|_, function| function.module != module);
        self.counts.unloads += 1;
        Ok(())
    }

    pub fn function(&mut self, module: usize, name: &str) -> Result<usize, Answer> {
        let (_, loaded) = self.modules.get(&module).ok_or(Answer::InvalidHandle)?;
        let entry = loaded.entry(name).ok_or(Answer::NotFound)?.name.clone();
        let handle = self.handle();
        self.functions.insert(handle, Function { module, entry, shared_leave: SHARED_WITHOUT_LEAVE });
        Ok(handle)
    }

    pub fn give_leave(&mut self, function: usize, bytes: u32) -> Result<(), Answer> {
        let function = self.functions.get_mut(&function).ok_or(Answer::InvalidHandle)?;
        function.shared_leave = bytes;
        Ok(())
    }

    pub fn known(&self, function: usize) -> Result<(), Answer> {
        self.functions.contains_key(&function).then_some(()).ok_or(Answer::InvalidHandle)
    }

    pub fn create_stream(&mut self) -> Result<usize, Answer> {
        let context = current();
        self.device_of(context)?;
        let handle = self.handle();
        self.streams.insert(handle, context);
        Ok(handle)
    }

    pub fn context_of_stream(&self, stream: usize) -> Result<usize, Answer> {
        self.streams.get(&stream).copied().ok_or(Answer::InvalidHandle)
    }

    /// Bytes of each parameter of a function.
    pub fn parameters(&self, function: usize) -> Result<Vec<u32>, Answer> {
        let function = self.functions.get(&function).ok_or(Answer::InvalidHandle)?;
        let (_, module) = self.modules.get(&function.module).ok_or(Answer::InvalidHandle)?;
        let entry = module.entry(&function.entry).ok_or(Answer::NotFound)?;
        Ok(entry.params.iter().map(|param| param.bytes).collect())
    }

    /// Runs a kernel.
    pub fn launch(
        &mut self,
        function: usize,
        config: &LaunchConfig,
        args: &[Arg],
        stream: usize,
    ) -> Result<(), Answer> {
        let function = self.functions.get(&function).ok_or(Answer::InvalidHandle)?;
        let (context, module) = self.modules.get(&function.module).ok_or(Answer::InvalidHandle)?;
        let of_context = stream == 0 || self.streams.get(&stream) == Some(context);
        if *context != current() || !of_context {
            return Err(Answer::InvalidHandle);
        }
        if config.dynamic_shared > function.shared_leave {
            return Err(Answer::InvalidValue);
        }
        self.counts.launches += 1;
        self.counts.programmatic += u64::from(config.programmatic);
        ptx_machine::launch(module, &function.entry, &mut self.memory, config, args).map(|_| ()).map_err(|error| {
            eprintln!("machine driver: {error}");
            Answer::LaunchFailed
        })
    }
}
