//! One allocation: words that blocks may touch at the same time without undefined behaviour, and a bit a byte that
//! says whether it was ever written.

use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::AllocOptions;
use crate::error::excerpt;

/// Bytes whose written-bits share one word.
const BYTES_PER_MARK: u64 = 32;

/// Words whose bytes share a mark.
const WORDS_PER_MARK: usize = BYTES_PER_MARK as usize / 4;

/// A copy of some words, with what is known of them.
#[derive(Debug)]
pub(crate) struct SegmentPart {
    first: usize,
    words: Vec<u32>,
    marks: Vec<u32>,
}

/// One allocation of any state space.
///
/// A word is a relaxed atomic: it costs what a plain load or store costs, and a kernel that races gets some value
/// rather than undefined behaviour of the machine.
#[derive(Debug)]
pub(crate) struct Segment {
    /// What reports call it.
    pub name: String,
    /// Its place in the list of its space.
    pub number: u32,
    /// Address of its first byte, a multiple of 16.
    pub base: u64,
    /// Bytes that one lane can address.
    pub len: u64,
    /// Words between the copies of two lanes; 0 where all lanes share one copy.
    pub lane_words: u32,
    /// Kernels may store to it.
    pub writable: bool,
    /// A store of unknown bits leaves their bytes unwritten; elsewhere it is a fault.
    pub scratch: bool,
    words: Box<[AtomicU32]>,
    /// Held while 64 bits are accessed as a whole.
    wide: Mutex<()>,
    /// Bit `i` of mark `j` says that byte `32j + i` was written; `None`: all were.
    marks: Option<Box<[AtomicU32]>>,
}

fn words_for(len: u64) -> u64 {
    // Rounded up to whole marks so that a mark never straddles two lanes' copies.
    len.div_ceil(BYTES_PER_MARK) * (BYTES_PER_MARK / 4)
}

fn filled(count: u64, value: u32) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(value)).collect()
}

impl Segment {
    /// A copy of `bytes`, one for all lanes.
    pub fn from_bytes(name: &str, base: u64, bytes: &[u8], options: AllocOptions) -> Self {
        let len = bytes.len() as u64;
        let (whole, rest) = bytes.as_chunks::<4>();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let pad = words_for(len) as usize - whole.len();
        let words = whole.iter().map(|b| AtomicU32::new(u32::from_le_bytes(*b)));
        let tail = std::iter::once(last).chain(std::iter::repeat([0; 4])).take(pad);
        let words = words.chain(tail.map(|b| AtomicU32::new(u32::from_le_bytes(b)))).collect();
        let AllocOptions { initialised, writable, scratch } = options;
        let mark = if initialised { u32::MAX } else { 0 };
        let marks = (!initialised || scratch).then(|| filled(len.div_ceil(BYTES_PER_MARK), mark));
        Self {
            name: excerpt(name),
            number: 0,
            base,
            len,
            lane_words: 0,
            writable,
            scratch,
            words,
            wide: Mutex::new(()),
            marks,
        }
    }

    /// `len` bytes of scratch that no one has written, a copy for each of `lanes` lanes (0: one shared by all).
    pub fn unwritten(name: &str, base: u64, len: u64, lanes: u32) -> Self {
        let lane_words = if lanes == 0 { 0 } else { words_for(len) as u32 };
        let count = words_for(len) * u64::from(lanes.max(1));
        Self {
            name: excerpt(name),
            number: 0,
            base,
            len,
            lane_words,
            writable: true,
            scratch: true,
            words: filled(count, u32::MAX),
            wide: Mutex::new(()),
            marks: Some(filled(count * 4 / BYTES_PER_MARK, 0)),
        }
    }

    /// With a place in the list of its space.
    pub fn numbered(self, number: u32) -> Self {
        Self { number, ..self }
    }

    /// A copy of up to `count` words from word `first` on; both are multiples of what a mark covers.
    pub fn part(&self, first: usize, count: usize) -> SegmentPart {
        let copy = |all: &[AtomicU32], first: usize, count: usize| {
            all[first..all.len().min(first + count)].iter().map(|w| w.load(Relaxed)).collect()
        };
        let marks = |marks: &[AtomicU32]| copy(marks, first / WORDS_PER_MARK, count / WORDS_PER_MARK);
        SegmentPart {
            first,
            words: copy(&self.words, first, count),
            marks: self.marks.as_deref().map(marks).unwrap_or_default(),
        }
    }

    /// Puts back what [`Segment::part`] copied.
    pub fn restore(&self, part: &SegmentPart) {
        let put = |all: &[AtomicU32], first: usize, old: &[u32]| {
            all[first..].iter().zip(old).for_each(|(word, &old)| word.store(old, Relaxed));
        };
        put(&self.words, part.first, &part.words);
        if let Some(marks) = &self.marks {
            put(marks, part.first / WORDS_PER_MARK, &part.marks);
        }
    }

    /// Forgets everything, for the next block.
    pub fn reset(&mut self) {
        for mark in self.marks.as_mut().into_iter().flat_map(|m| m.iter_mut()) {
            *mark.get_mut() = 0;
        }
    }

    /// Forgets what one lane has written to its copy.
    pub fn forget_lane(&self, lane: usize) {
        let count = self.len.div_ceil(BYTES_PER_MARK) as usize;
        for mark in self.marks.iter().flat_map(|marks| &marks[lane * count..][..count]) {
            mark.store(0, Relaxed);
        }
    }

    /// Whether every byte counts as written, for good.
    #[inline]
    pub fn all_written(&self) -> bool {
        self.marks.is_none()
    }

    /// The words, for a loop that has checked its range.
    #[inline]
    pub fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// Whether the `size` bytes at `offset` were written; `size` is a power of two up to 32 that divides `offset`.
    #[inline]
    pub fn is_written(&self, offset: u64, size: u32) -> bool {
        let Some(marks) = &self.marks else { return true };
        let want = bits(offset, size);
        marks[(offset / BYTES_PER_MARK) as usize].load(Relaxed) & want == want
    }

    /// Marks the `size` bytes at `offset` as written; as for [`Segment::is_written`].
    #[inline]
    pub fn mark_written(&self, offset: u64, size: u32) {
        let Some(marks) = &self.marks else { return };
        let want = bits(offset, size);
        let mark = &marks[(offset / BYTES_PER_MARK) as usize];
        // Most stores hit bytes that are marked already: a load is cheaper than a locked or.
        if mark.load(Relaxed) & want != want {
            mark.fetch_or(want, Relaxed);
        }
    }

    /// Marks the `size` bytes at `offset` as never written; as for [`Segment::is_written`].
    pub fn mark_unwritten(&self, offset: u64, size: u32) {
        if let Some(marks) = &self.marks {
            marks[(offset / BYTES_PER_MARK) as usize].fetch_and(!bits(offset, size), Relaxed);
        }
    }

    /// Loads `size` bytes (1, 2, 4 or 8, dividing `offset`), zero-extended.
    #[inline]
    pub fn load(&self, offset: u64, size: u32) -> u64 {
        let i = (offset / 4) as usize;
        let low = self.words[i].load(Relaxed);
        match size {
            8 => u64::from(low) | u64::from(self.words[i + 1].load(Relaxed)) << 32,
            4 => u64::from(low),
            _ => u64::from(low >> ((offset & 3) * 8) & ((1 << (size * 8)) - 1)),
        }
    }

    /// Stores the low `size` bytes of `value` (1, 2, 4 or 8, dividing `offset`).
    #[inline]
    pub fn store(&self, offset: u64, size: u32, value: u64) {
        let i = (offset / 4) as usize;
        match size {
            8 => {
                self.words[i].store(value as u32, Relaxed);
                self.words[i + 1].store((value >> 32) as u32, Relaxed);
            }
            4 => self.words[i].store(value as u32, Relaxed),
            _ => {
                let shift = (offset & 3) * 8;
                let mask = ((1u32 << (size * 8)) - 1) << shift;
                let new = ((value as u32) << shift) & mask;
                // A neighbour in the same word may be another block's, so the word is exchanged as a whole.
                let _ = self.words[i].fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | new));
            }
        }
    }

    /// Replaces the `size` bytes at `offset` (2, 4 or 8, dividing it) by what `f` makes of them, if anything, with no
    /// other such operation between; gives back what they were.
    pub fn update(&self, offset: u64, size: u32, f: impl Fn(u64) -> Option<u64>) -> u64 {
        if size == 8 {
            let _whole = self.whole(true);
            let old = self.load(offset, 8);
            if let Some(new) = f(old) {
                self.store(offset, 8, new);
            }
            return old;
        }
        let shift = (offset & 3) * 8;
        let keep = u32::MAX >> (32 - 8 * size);
        let part = |word: u32| u64::from(word >> shift & keep);
        let swap = |word: u32| f(part(word)).map(|new| word & !(keep << shift) | (new as u32 & keep) << shift);
        let old = self.words[(offset / 4) as usize].fetch_update(AcqRel, Acquire, swap);
        part(old.unwrap_or_else(|word| word))
    }

    /// Where `is_wanted`, keeps other operations on 64 bits that are whole away until the result is dropped.
    #[inline]
    pub fn whole(&self, is_wanted: bool) -> Option<MutexGuard<'_, ()>> {
        is_wanted.then(|| self.wide.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Copies bytes to the host.
    pub fn read(&self, offset: u64, out: &mut [u8]) {
        let head = head_bytes(offset, out.len());
        let (head, rest) = out.split_at_mut(head);
        let (words, tail) = rest.as_chunks_mut::<4>();
        let mut at = offset;
        let mut get = |size: u32| {
            let value = self.load(at, size);
            at += u64::from(size);
            value
        };
        for byte in head {
            *byte = get(1) as u8;
        }
        for word in words {
            *word = (get(4) as u32).to_le_bytes();
        }
        for byte in tail {
            *byte = get(1) as u8;
        }
    }

    /// Copies bytes from the host and marks them.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(head_bytes(offset, bytes.len()));
        let (words, tail) = rest.as_chunks::<4>();
        let mut at = offset;
        let mut put = |value: u64, size: u32| {
            self.store(at, size, value);
            self.mark_written(at, size);
            at += u64::from(size);
        };
        for &byte in head {
            put(byte.into(), 1);
        }
        for &word in words {
            put(u32::from_le_bytes(word).into(), 4);
        }
        for &byte in tail {
            put(byte.into(), 1);
        }
    }

    /// How many of the bytes were never written.
    pub fn count_unwritten(&self, offset: u64, len: u64) -> usize {
        if self.all_written() {
            return 0;
        }
        (offset..offset + len).filter(|&at| !self.is_written(at, 1)).count()
    }
}

/// How many of `len` bytes lie before the first whole word.
fn head_bytes(offset: u64, len: usize) -> usize {
    ((offset.wrapping_neg() & 3) as usize).min(len)
}

#[inline]
fn bits(offset: u64, size: u32) -> u32 {
    (u32::MAX >> (32 - size)) << (offset % BYTES_PER_MARK)
}
