//! The decoder: made once for a capacity, called for each token.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use splitk_plan::{DeviceProfile, Geometry, Plan, PlanRequest, PolicyChoice, ScratchLayout, Tile, TileTable};

use crate::kernels::plans_by_tile;
use crate::module::{Function, Module};
use crate::view::{check_kv, check_out, check_q};
use crate::{ArrayView, Context, DeviceBuffer, Error, PtxFile, PtxSet, check_stream, choose_profile, device_of};

/// Largest capacity: rows within a split are signed 32-bit numbers in the kernels.
pub const MAX_CAPACITY: u32 = i32::MAX as u32;

/// What a decoder is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Heads, head dimension and storage.
    pub geometry: Geometry,
    /// Longest context of a call; sizes the scratch.
    pub kv_capacity: u32,
    /// How the context is split.
    pub policy: PolicyChoice,
    /// The device to plan for; `None` for what [`choose_profile`] finds for the context's device.
    pub profile: Option<DeviceProfile>,
    /// The table that says which tile, and which policy where none is named.
    pub tiles: Arc<TileTable>,
}

/// The arguments of a call. All arrays lie on the decoder's device; the contract's section 2 says how.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// f32 `[num_q_heads, head_dim]`.
    pub q: &'a ArrayView,
    /// `[rows >= kv_len, num_kv_heads, head_dim]` in the storage type.
    pub k: &'a ArrayView,
    /// As `k`.
    pub v: &'a ArrayView,
    /// f32 `[num_q_heads, head_dim]`; overlaps no input.
    pub out: &'a ArrayView,
    /// Keys of the call, 1 to the capacity.
    pub kv_len: u32,
    /// Handle of the stream that it is queued on; 0 is the legacy default stream.
    pub stream: u64,
}

/// Split-K decode attention of one query position: a partial kernel, then a reduce kernel.
///
/// Owns its scratch, so calls that may overlap on the device, on two streams, need two decoders.
#[derive(Debug)]
pub struct SplitKDecode {
    config: Config,
    profile: DeviceProfile,
    target: String,
    fallback: Option<String>,
    partials: Vec<(Tile, Function)>,
    reduce: Function,
    layout: ScratchLayout,
    scratch: DeviceBuffer,
    /// Held while the two kernels of a call are queued, so that calls from several threads do not interleave.
    queueing: Mutex<()>,
    // Last: unloaded after everything that uses it.
    _module: Module,
    context: Arc<Context>,
}

impl Config {
    /// A decoder with tiles and policies of the table that is built in, planned for the context's device.
    pub fn new(geometry: Geometry, kv_capacity: u32) -> Self {
        Self { geometry, kv_capacity, policy: PolicyChoice::Table, profile: None, tiles: TileTable::built_in() }
    }

    /// The request of a call with `kv_len` keys, planned for `profile`.
    pub fn request(&self, kv_len: u32, profile: DeviceProfile) -> PlanRequest {
        let geometry = &self.geometry;
        PlanRequest {
            kv_len,
            num_q_heads: geometry.num_q_heads(),
            num_kv_heads: geometry.num_kv_heads(),
            head_dim: geometry.head_dim(),
            storage: geometry.storage(),
            policy: self.policy,
            profile,
        }
    }

    /// Refuses a decoder that no device has a kernel for.
    ///
    /// # Errors
    /// [`Error::Value`] for a capacity that no call can have, [`Error::Plan`] as [`Plan::by_table`] and [`ScratchLayout::new`].
    pub fn check(&self) -> Result<(), Error> {
        if !(1..=MAX_CAPACITY).contains(&self.kv_capacity) {
            return Err(Error::value("kv_capacity", self.kv_capacity, format!("1 to {MAX_CAPACITY}")));
        }
        // Which profile it is does not matter here: shape and storage decide.
        let profile = self.profile.unwrap_or_else(|| choose_profile(0, 0));
        self.plan(self.kv_capacity, profile)?;
        self.layout(profile)?;
        Ok(())
    }

    fn plan(&self, kv_len: u32, profile: DeviceProfile) -> Result<Plan, Error> {
        Ok(Plan::by_table(&self.request(kv_len, profile), &self.tiles)?)
    }

    fn layout(&self, profile: DeviceProfile) -> Result<ScratchLayout, Error> {
        Ok(ScratchLayout::new(&self.geometry, self.kv_capacity, self.policy, &profile, &self.tiles)?)
    }
}

impl SplitKDecode {
    /// Chooses the PTX for the context's device, assembles and loads it, and allocates the scratch. Waits for all of it;
    /// needs no context to be current.
    ///
    /// # Errors
    /// [`Error::Plan`] or [`Error::Value`] for what is not supported, [`Error::Unavailable`] for a device older than all
    /// PTX, [`Error::PtxSet`] for a set without the kernels, [`Error::Driver`] for what the driver refuses.
    pub fn new(context: &Arc<Context>, set: &PtxSet, config: &Config) -> Result<Self, Error> {
        config.check()?;
        let profile = config.profile.unwrap_or_else(|| choose_profile(context.arch, context.sms));
        let request = config.request(config.kv_capacity, profile);
        let choice = set.choose(context.arch)?;
        let layout = config.layout(profile)?;
        let kernels = Kernels::of(choice.file, &request, &config.tiles)?;
        let module = Module::load(context, &choice.file.name(), choice.file.text())?;
        let (partials, reduce) = kernels.functions(&module)?;
        Ok(Self {
            config: config.clone(),
            profile,
            target: choice.file.target(),
            fallback: choice.fallback(),
            partials,
            reduce,
            layout,
            scratch: DeviceBuffer::new(context, layout.total_bytes)?,
            queueing: Mutex::new(()),
            _module: module,
            context: Arc::clone(context),
        })
    }

    /// What it was made for.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The context that it lives in.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The device profile that it plans for.
    pub fn profile(&self) -> DeviceProfile {
        self.profile
    }

    /// The architecture of the PTX that it runs, such as `sm_90`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Where that is not the device's own architecture: a line that says so.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The plan of a call with `kv_len` keys.
    ///
    /// # Errors
    /// [`Error::Value`] when `kv_len` is 0 or past the capacity.
    pub fn plan(&self, kv_len: u32) -> Result<Plan, Error> {
        if !(1..=self.config.kv_capacity).contains(&kv_len) {
            return Err(Error::value("kv_len", kv_len, format!("1 to {}", self.config.kv_capacity)));
        }
        self.config.plan(kv_len, self.profile)
    }

    /// Checks a call and queues its two kernels. Allocates no device memory, loads nothing and waits for nothing (unless
    /// the stream's queue is full), so it can be captured in a CUDA graph; the graph then replays this `kv_len`.
    ///
    /// # Errors
    /// [`Error::Kind`] and [`Error::Value`] for arguments, [`Error::Context`] when the decoder's context is not current
    /// on this thread, [`Error::Driver`] for what the driver refuses.
    ///
    /// # Safety
    /// The arrays' memory is alive, as large as they say, and used by no one else (`out`) or only read (the others),
    /// from when the stream reaches this call until it has passed it; `out` overlaps no other. `stream` is the handle of
    /// a stream that lives. Calls, and replays of graphs that captured one, do not overlap on the device, and are over
    /// before the decoder is dropped (dropping it waits for launches, not for replays that are yet to come).
    pub unsafe fn launch(&self, call: &Call<'_>) -> Result<(), Error> {
        let plan = self.plan(call.kv_len)?;
        let geometry = &self.config.geometry;
        check_q(geometry, call.q)?;
        check_kv(geometry, "k", call.k, call.kv_len)?;
        check_kv(geometry, "v", call.v, call.kv_len)?;
        check_out(geometry, call.out)?;
        self.context.require_current()?;
        for (field, array) in [("q", call.q), ("k", call.k), ("v", call.v), ("out", call.out)] {
            self.check_device(field, array)?;
        }
        // SAFETY: the stream lives, says the caller.
        unsafe { check_stream(&self.context, call.stream)? };
        // Nothing that the lock guards can be left half done.
        let _queueing = self.queueing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the context is current, stream and arrays were checked, and for their memory the caller speaks.
        unsafe {
            self.launch_partial(call, &plan)?;
            self.launch_reduce(call, &plan)
        }
    }

    fn check_device(&self, field: &str, array: &ArrayView) -> Result<(), Error> {
        let own = self.context.device();
        match device_of(array.address)? {
            Some(device) if device == own => Ok(()),
            Some(other) => {
                Err(Error::value(format!("{field}.device"), other, format!("{own}, the device of this decoder")))
            }
            None => Err(Error::kind(field, "host memory", "an array of device memory")),
        }
    }

    /// Addresses of the scratch's three arrays.
    fn parts(&self) -> [u64; 3] {
        let base = self.scratch.address();
        let layout = &self.layout;
        [base + layout.part_m_offset, base + layout.part_s_offset, base + layout.part_acc_offset]
    }

    /// # Safety
    /// As [`SplitKDecode::launch`], of a checked call, in the decoder's context.
    unsafe fn launch_partial(&self, call: &Call<'_>, plan: &Plan) -> Result<(), Error> {
        let (_, function) = *self
            .partials
            .iter()
            .find(|(tile, _)| *tile == plan.tile)
            .ok_or_else(|| Error::PtxSet(format!("no kernel was loaded for {}", plan.partial_entry())))?;
        let mut addresses = [call.q.address, call.k.address, call.v.address];
        let mut parts = self.parts();
        let mut counts = [plan.kv_len, plan.chunk, plan.n_splits];
        let (k, v) = (call.k, call.v);
        let mut strides = [call.q.stride(0), k.stride(0), k.stride(1), v.stride(0), v.stride(1)];
        let mut arguments = [std::ptr::null_mut::<c_void>(); 14];
        let values =
            places(&mut addresses).chain(places(&mut parts)).chain(places(&mut counts)).chain(places(&mut strides));
        for (argument, value) in arguments.iter_mut().zip(values) {
            *argument = value;
        }
        // SAFETY: the parameters of section 8 in their order: six addresses, three counts of 32 bits, five strides of
        // 64 bits (not negative). Grid, block and dynamic shared memory are the plan's; the scratch has room for the
        // plan's splits, as `kv_len` is within the capacity; the rest was checked or is the caller's.
        unsafe { function.launch(plan.partial_launch(), call.stream, &mut arguments) }
    }

    /// # Safety
    /// As [`SplitKDecode::launch_partial`].
    unsafe fn launch_reduce(&self, call: &Call<'_>, plan: &Plan) -> Result<(), Error> {
        let [mut m, mut s, mut acc] = self.parts();
        let (mut out, mut n_splits, mut stride) = (call.out.address, plan.n_splits, call.out.stride(0));
        let mut arguments =
            [place(&mut m), place(&mut s), place(&mut acc), place(&mut out), place(&mut n_splits), place(&mut stride)];
        // SAFETY: the parameters of section 8 in their order; the rest as for the partial kernel, which has written the
        // scratch when this one runs, as both are on one stream and it waits for that where it starts early.
        unsafe { self.reduce.launch(plan.reduce_launch(), call.stream, &mut arguments) }
    }
}

/// The kernels of a decoder in a file.
struct Kernels {
    partials: Vec<(Tile, Kernel)>,
    reduce: Kernel,
}

/// A kernel in a file: its name and how it is launched.
struct Kernel {
    name: String,
    dynamic_shared_bytes: u32,
    programmatic: bool,
}

impl Kernel {
    fn of(file: &PtxFile, name: String, (_, [threads, ..]): ([u32; 3], [u32; 3])) -> Result<Self, Error> {
        let dynamic_shared_bytes = file.dynamic_shared_bytes(&name, threads)?;
        let programmatic = file.waits(&name);
        Ok(Self { name, dynamic_shared_bytes, programmatic })
    }

    fn function(&self, module: &Module) -> Result<Function, Error> {
        module.function(&self.name, self.dynamic_shared_bytes, self.programmatic)
    }
}

impl Kernels {
    /// Finds the kernels of every call up to the request's length, or says which one the file does not have.
    fn of(file: &PtxFile, request: &PlanRequest, table: &TileTable) -> Result<Self, Error> {
        let mut partials = Vec::new();
        for plan in plans_by_tile(request, table)? {
            partials.push((plan.tile, Kernel::of(file, plan.partial_entry(), plan.partial_launch())?));
        }
        let plan = Plan::by_table(request, table)?;
        Ok(Self { partials, reduce: Kernel::of(file, plan.reduce_entry(), plan.reduce_launch())? })
    }

    /// The same in a loaded module.
    fn functions(&self, module: &Module) -> Result<(Vec<(Tile, Function)>, Function), Error> {
        let partials = self.partials.iter().map(|(tile, kernel)| Ok((*tile, kernel.function(module)?)));
        Ok((partials.collect::<Result<_, Error>>()?, self.reduce.function(module)?))
    }
}

/// Where a value lies, as a launch wants it.
fn place<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

fn places<T>(values: &mut [T]) -> impl Iterator<Item = *mut c_void> {
    values.iter_mut().map(place)
}
