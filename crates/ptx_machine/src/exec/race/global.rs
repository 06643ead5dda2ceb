//! What the blocks of one launch remember of global memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::record::{Actor, Clash, Record};
use super::sync::SyncTable;
use super::words::Words;
use crate::memory::{Effects, Footprint, History, PAGE, Segment, SegmentPart, Trail};

/// Most accesses that a page remembers of words that many warps share: 16 a word on average.
const MOST_RECORDS: usize = 16 * PAGE;

/// Why an access to global memory may not be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wrong {
    Race(Clash),
    /// The read or the write is the earlier one, of a word that `ld.global.nc` reads.
    NonCoherent(Clash),
}

impl From<Clash> for Wrong {
    fn from(clash: Clash) -> Self {
        Wrong::Race(clash)
    }
}

#[derive(Debug)]
pub(super) struct Page {
    words: Words,
    /// A read of each word by `ld.global.nc`; empty: there was none.
    non_coherent: Vec<Record>,
    /// Such reads of other bytes of a word.
    more: Vec<(usize, Record)>,
    /// What the memory held when the launch first came here.
    original: Option<SegmentPart>,
}

impl Page {
    pub fn read(&mut self, word: usize, by: &Actor<'_>, new: &Record) -> Result<(), Wrong> {
        Ok(self.words.read(word % PAGE, by, new)?)
    }

    pub fn write(&mut self, word: usize, by: &Actor<'_>, new: &Record) -> Result<(), Wrong> {
        let i = word % PAGE;
        if let Some(first) = self.non_coherent.get(i) {
            let more = self.more.iter().filter(|(j, _)| *j == i).map(|(_, r)| r);
            let mut reads = std::iter::once(first).chain(more);
            if let Some(other) = reads.find(|r| !r.is_none() && r.how.bytes & new.how.bytes != 0) {
                return Err(non_coherent(new, other));
            }
        }
        Ok(self.words.write(i, by, new)?)
    }

    /// A read by `ld.global.nc`: no write of the launch, before or after it, may meet it.
    pub fn read_non_coherent(&mut self, word: usize, new: &Record) -> Result<(), Wrong> {
        let i = word % PAGE;
        if let Some(other) = self.words.writer(i, new.how.bytes) {
            return Err(non_coherent(new, &other));
        }
        if self.non_coherent.is_empty() {
            self.non_coherent = vec![Record::default(); PAGE];
        }
        let first = &mut self.non_coherent[i];
        if first.is_none() {
            *first = *new;
        } else if new.how.bytes & !first.how.bytes != 0
            && self.more.iter().all(|(j, r)| *j != i || new.how.bytes & !r.how.bytes != 0)
        {
            self.more.push((i, *new));
        }
        Ok(())
    }

    /// The bytes of a word that were written, and those that were read.
    fn touched(&self, i: usize) -> (u8, u8) {
        let (written, read) = self.words.touched(i);
        let Some(first) = self.non_coherent.get(i) else { return (written, read) };
        let more = self.more.iter().filter(|(j, _)| *j == i).map(|(_, r)| r.how.bytes);
        (written, more.fold(read | first.how.bytes, |all, bytes| all | bytes))
    }

    pub fn has_strong(&self, word: usize) -> bool {
        self.words.has_strong(word % PAGE)
    }

    pub fn land(&mut self, word: usize, unit: u32, lane: u32, time: u32) {
        self.words.land(word % PAGE, unit, lane, time);
    }
}

fn non_coherent(new: &Record, other: &Record) -> Wrong {
    let other = Record { lanes: 1 << other.lanes.trailing_zeros(), ..*other };
    Wrong::NonCoherent(Clash { lane: new.lanes.trailing_zeros(), other, bytes: new.how.bytes & other.how.bytes })
}

/// The pages of one segment.
#[derive(Debug)]
struct Pages(Box<[OnceLock<Box<Mutex<Page>>>]>);

/// By segment.
#[derive(Debug)]
struct AllPages(Vec<Option<Pages>>);

impl Trail for AllPages {
    fn footprint(self: Box<Self>) -> Footprint {
        let mut footprint = Footprint::default();
        for (segment, pages) in self.0.into_iter().enumerate() {
            for (number, page) in pages.into_iter().flat_map(|pages| pages.0).enumerate() {
                if let Some(page) = page.into_inner() {
                    let page = page.into_inner().unwrap_or_else(PoisonError::into_inner);
                    footprint.add_page(segment, number, |i| page.touched(i));
                }
            }
        }
        footprint
    }
}

/// Global memory of a launch: who has accessed what, in segments that kernels may store to.
#[derive(Debug)]
pub(crate) struct GlobalShadow<'a> {
    segments: &'a [Segment],
    pages: Vec<Option<Pages>>,
    sync: Mutex<SyncTable>,
    /// Launches that this one may overlap.
    history: Option<&'a History>,
    /// Some thread has waited for them.
    waited: AtomicBool,
    /// Blocks run at the same time, so that what was there is kept, to run them again one after the other.
    keeps_original: bool,
    /// Two blocks have raced.
    crossed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> GlobalShadow<'a> {
    pub fn new(segments: &'a [Segment], history: Option<&'a History>, keeps_original: bool) -> Self {
        let pages = |s: &Segment| {
            let count = s.len.div_ceil(4 * PAGE as u64);
            s.writable.then(|| Pages((0..count).map(|_| OnceLock::new()).collect()))
        };
        Self {
            segments,
            pages: segments.iter().map(pages).collect(),
            sync: Mutex::default(),
            history,
            waited: AtomicBool::new(false),
            keeps_original,
            crossed: AtomicBool::new(false),
        }
    }

    /// Whether accesses to a segment are remembered.
    pub fn watches(&self, segment: u32) -> bool {
        self.pages[segment as usize].is_some()
    }

    /// The page of a word; `None` where the segment cannot be stored to.
    pub(super) fn page(&self, segment: u32, word: usize) -> Option<MutexGuard<'_, Page>> {
        let pages = self.pages[segment as usize].as_ref()?;
        let page = pages.0[word / PAGE].get_or_init(|| {
            let part = || self.segments[segment as usize].part(word / PAGE * PAGE, PAGE);
            Box::new(Mutex::new(Page {
                words: Words::new(PAGE, MOST_RECORDS),
                non_coherent: Vec::new(),
                more: Vec::new(),
                original: self.keeps_original.then(part),
            }))
        });
        Some(lock(page))
    }

    /// Number that tells the pages of a segment apart.
    pub fn page_of(word: usize) -> usize {
        word / PAGE
    }

    /// Holds strong accesses of other blocks off.
    pub(super) fn sync(&self) -> MutexGuard<'_, SyncTable> {
        lock(&self.sync)
    }

    /// Launches that this one may overlap; `None`: there are none.
    #[inline]
    pub(super) fn history(&self) -> Option<&'a History> {
        self.history
    }

    pub(super) fn note_wait(&self) {
        self.waited.store(true, Ordering::Relaxed);
    }

    /// What the launch did.
    pub fn effects(self) -> Effects {
        Effects { trail: Some(Box::new(AllPages(self.pages))), waited: self.waited.into_inner() }
    }

    pub fn note_crossing(&self) {
        self.crossed.store(true, Ordering::Relaxed);
    }

    /// Whether two blocks have raced.
    pub fn has_crossed(&self) -> bool {
        self.crossed.load(Ordering::Relaxed)
    }

    /// Puts back what the memory held before the launch.
    pub fn restore(self) {
        for (segment, pages) in self.segments.iter().zip(self.pages) {
            for page in pages.into_iter().flat_map(|pages| pages.0).filter_map(OnceLock::into_inner) {
                let page = page.into_inner().unwrap_or_else(PoisonError::into_inner);
                if let Some(original) = page.original {
                    segment.restore(&original);
                }
            }
        }
    }
}
