//! Memory of the machine: named allocations with synthetic addresses, far apart, each byte known to be written or not.

mod history;
mod segment;

use std::collections::HashMap;

pub(crate) use history::{Deed, Early, Effects, Footprint, History, PAGE, Trail};
pub(crate) use segment::{Segment, SegmentPart};

/// Distance between the starts of two allocations is a multiple of this, and at least this much behind each end is
/// mapped to nothing, so that an index that overflows 32 bits lands in no neighbour.
const SLOT: u64 = 1 << 32;
/// Addresses at and past this belong to the windows of the other state spaces.
const END: u64 = 0x7000_0000_0000;

/// Why memory could not be allocated, read or written from the host. One line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MemoryError(pub String);

/// What an allocation starts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocOptions {
    /// Its bytes count as written. If not, a kernel that uses one before it writes it is reported.
    pub initialised: bool,
    /// Kernels may store to it. If not, a store is reported.
    pub writable: bool,
    /// Kernels may store values that no one has written, and the bytes count as unwritten again. If not, such a store
    /// is reported, as for an output.
    pub scratch: bool,
}

impl Default for AllocOptions {
    fn default() -> Self {
        Self { initialised: true, writable: true, scratch: false }
    }
}

/// Global memory, shared by the launches that are given it, with the module-scope variables of their modules.
#[derive(Debug, Default)]
pub struct Memory {
    /// By rising base address.
    segments: Vec<Segment>,
    next: u64,
    /// Module variables live as long as the memory, as on a device they live as long as the module.
    modules: HashMap<u64, ModuleVariables>,
    /// What the launches so far did to it.
    history: History,
}

/// Where the module-scope variables of one module are.
#[derive(Debug, Default)]
pub(crate) struct ModuleVariables {
    /// Address of each `.global` variable, in the module's order.
    pub global: Vec<u64>,
    /// The `.const` variables.
    pub constant: Vec<Segment>,
}

impl Memory {
    /// Empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates and copies `bytes` in; returns the device address, a multiple of 256.
    ///
    /// `name` is what a fault calls the allocation; a long one is cut, and control characters are escaped.
    ///
    /// # Errors
    /// If the address space is used up.
    pub fn alloc(&mut self, name: &str, bytes: &[u8], options: AllocOptions) -> Result<u64, MemoryError> {
        let base = self.reserve(name, bytes.len() as u64)?;
        let number = self.segments.len() as u32;
        self.segments.push(Segment::from_bytes(name, base, bytes, options).numbered(number));
        Ok(base)
    }

    /// Allocates `len` bytes that no one has written; the host reads them as 0xFF, which is NaN in every float type.
    ///
    /// # Errors
    /// If the address space is used up.
    pub fn alloc_uninit(&mut self, name: &str, len: usize) -> Result<u64, MemoryError> {
        let base = self.alloc_scratch(name, len)?;
        if let Some(output) = self.segments.last_mut() {
            output.scratch = false;
        }
        Ok(base)
    }

    /// The same for [scratch](AllocOptions::scratch) memory.
    ///
    /// # Errors
    /// If the address space is used up.
    pub fn alloc_scratch(&mut self, name: &str, len: usize) -> Result<u64, MemoryError> {
        let base = self.reserve(name, len as u64)?;
        let number = self.segments.len() as u32;
        self.segments.push(Segment::unwritten(name, base, len as u64, 0).numbered(number));
        Ok(base)
    }

    /// Copies `out.len()` bytes at `address` to the host, written or not.
    ///
    /// # Errors
    /// If the range is not within one allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let segment = self.host_range(address, out.len())?;
        segment.read(address - segment.base, out);
        Ok(())
    }

    /// Copies `bytes` to `address`; they count as written. A launch after it starts when those before it have ended,
    /// [programmatic](crate::LaunchConfig::programmatic) or not.
    ///
    /// # Errors
    /// If the range is not within one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let segment = self.host_range(address, bytes.len())?;
        segment.write(address - segment.base, bytes);
        self.history = History::default();
        Ok(())
    }

    /// Takes it that a kernel was launched that writes the whole allocations at the addresses `writes`, and reads those
    /// at `reads`: one that is not run here. Memory that kernels may only read can be among them.
    ///
    /// As after a launch, a [programmatic](crate::LaunchConfig::programmatic) one that comes next may overlap it until
    /// it waits, and all launches before this call have ended.
    ///
    /// # Errors
    /// If an address is in no allocation.
    pub fn follow(&mut self, writes: &[u64], reads: &[u64]) -> Result<(), MemoryError> {
        let number = |&address: &u64| self.host_range(address, 0).map(|segment| segment.number);
        let mut deeds = Vec::with_capacity(writes.len() + reads.len());
        for (addresses, deed) in [(writes, Deed::Wrote), (reads, Deed::Read)] {
            for address in addresses {
                deeds.push((number(address)?, deed));
            }
        }
        self.history = History::after(deeds);
        Ok(())
    }

    /// How many of the `len` bytes at `address` neither host nor kernel has written.
    ///
    /// # Errors
    /// If the range is not within one allocation.
    pub fn unwritten(&self, address: u64, len: usize) -> Result<usize, MemoryError> {
        let segment = self.host_range(address, len)?;
        Ok(segment.count_unwritten(address - segment.base, len as u64))
    }

    fn reserve(&mut self, name: &str, len: u64) -> Result<u64, MemoryError> {
        let base = self.next.max(SLOT);
        let next = base.checked_add(len).and_then(|end| end.checked_next_multiple_of(SLOT)).map(|end| end + SLOT);
        match next {
            Some(next) if next <= END => {
                self.next = next;
                Ok(base)
            }
            _ => Err(MemoryError(format!(
                "allocation `{}` of {len} bytes does not fit: {} of {END} bytes of address space are left",
                crate::error::excerpt(name),
                END.saturating_sub(base)
            ))),
        }
    }

    fn host_range(&self, address: u64, len: usize) -> Result<&Segment, MemoryError> {
        let found = find(&self.segments, address).filter(|s| len as u64 <= s.len - (address - s.base));
        found.ok_or_else(|| {
            let near = nearest(&self.segments, address);
            MemoryError(format!("no allocation holds {len} bytes at {address:#x} ({near})"))
        })
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    pub(crate) fn module(&self, id: u64) -> Option<&ModuleVariables> {
        self.modules.get(&id)
    }

    pub(crate) fn set_module(&mut self, id: u64, variables: ModuleVariables) {
        self.modules.insert(id, variables);
    }
}

/// The segment that `address` lies in, or the end of which it is; `segments` is sorted by base.
pub(crate) fn find(segments: &[Segment], address: u64) -> Option<&Segment> {
    let after = segments.partition_point(|s| s.base <= address);
    let segment = segments.get(after.checked_sub(1)?)?;
    (address - segment.base <= segment.len).then_some(segment)
}

/// Where `address` lies in terms of the closest segment, for a report.
pub(crate) fn nearest(segments: &[Segment], address: u64) -> String {
    let distance = |s: &Segment| {
        if address < s.base { s.base - address } else { address.saturating_sub(s.base + s.len) }
    };
    let Some(segment) = segments.iter().min_by_key(|s| distance(s)) else {
        return "nothing is allocated there".to_owned();
    };
    let Segment { name, base, len, .. } = segment;
    if address < *base {
        format!("{} bytes before `{name}`, {len} bytes at {base:#x}", base - address)
    } else if address >= base + len {
        format!("{} bytes past the end of `{name}`, {len} bytes at {base:#x}", address - (base + len))
    } else {
        format!("`{name}`+{}, {len} bytes at {base:#x}", address - base)
    }
}
