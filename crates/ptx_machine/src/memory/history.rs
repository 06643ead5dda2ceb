//! What the launches over one memory have done to its bytes, for a launch that may start before they have ended.

/// Words whose bytes are remembered together.
pub(crate) const PAGE: usize = 1024;

/// What a launch did to a byte: it wrote it (and may have read it), or only read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Wrote,
    Read,
}

/// Which bytes were written, and which were read.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    segments: Vec<Marks>,
}

/// What was done to a segment. A mark is of a word, and has a bit a byte: the low four for bytes written, the high four
/// for those read.
#[derive(Debug, Default)]
struct Marks {
    /// Of each word.
    everywhere: u8,
    /// Of single words, by page.
    pages: Vec<Option<Box<[u8; PAGE]>>>,
}

impl Footprint {
    fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Adds a page of words: of each, the bytes written and those read.
    pub fn add_page(&mut self, segment: usize, page: usize, mut touched: impl FnMut(usize) -> (u8, u8)) {
        let marks = self.page(segment, page);
        for (i, mark) in marks.iter_mut().enumerate() {
            let (written, read) = touched(i);
            *mark |= written | read << 4;
        }
    }

    /// Adds all of a segment.
    fn add_segment(&mut self, segment: u32, deed: Deed) {
        self.marks(segment as usize).everywhere |= match deed {
            Deed::Wrote => 0xf,
            Deed::Read => 0xf0,
        };
    }

    fn marks(&mut self, segment: usize) -> &mut Marks {
        if self.segments.len() <= segment {
            self.segments.resize_with(segment + 1, Marks::default);
        }
        &mut self.segments[segment]
    }

    fn page(&mut self, segment: usize, page: usize) -> &mut [u8; PAGE] {
        let pages = &mut self.marks(segment).pages;
        if pages.len() <= page {
            pages.resize_with(page + 1, || None);
        }
        pages[page].get_or_insert_with(|| Box::new([0; PAGE]))
    }

    fn add(&mut self, other: Self) {
        for (segment, marks) in other.segments.into_iter().enumerate() {
            self.marks(segment).everywhere |= marks.everywhere;
            for (number, page) in marks.pages.into_iter().enumerate() {
                if let Some(page) = page {
                    self.add_page(segment, number, |i| (page[i] & 0xf, page[i] >> 4));
                }
            }
        }
    }

    /// What was done to some of the `bytes` of a word that an access to them conflicts with, and to which.
    fn conflict(&self, segment: u32, word: usize, bytes: u8, writes: bool) -> Option<(Deed, u8)> {
        let marks = self.segments.get(segment as usize)?;
        let page = marks.pages.get(word / PAGE).and_then(Option::as_ref);
        let mark = marks.everywhere | page.map_or(0, |page| page[word % PAGE]);
        let (written, read) = (mark & bytes, mark >> 4 & bytes);
        match (written, read) {
            (0, read) if writes && read != 0 => Some((Deed::Read, read)),
            (0, _) => None,
            (written, _) => Some((Deed::Wrote, written)),
        }
    }
}

/// What is remembered of a launch, of which a footprint is made where a later launch needs it: few do.
pub(crate) trait Trail: std::fmt::Debug + Send + Sync {
    fn footprint(self: Box<Self>) -> Footprint;
}

/// What a launch did, and whether some thread of it waited for the launches before it.
#[derive(Debug)]
pub(crate) struct Effects {
    /// `None`: its accesses were not looked at.
    pub trail: Option<Box<dyn Trail>>,
    pub waited: bool,
}

impl Effects {
    /// Of a launch whose accesses were not looked at.
    pub fn unknown() -> Self {
        Self { trail: None, waited: true }
    }
}

/// An access that conflicts with what a launch before this one did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Early {
    pub deed: Deed,
    /// The bytes of the word that both access.
    pub bytes: u8,
    /// The access would come after the other one if its thread had waited.
    pub is_covered: bool,
}

/// Launches that a later one may overlap.
///
/// A launch that is not programmatic starts when the last one has ended; a thread of one that is may run before, until
/// it waits. That a launch has ended says of those before it that they have, too, if it started after them or if one of
/// its threads waited.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// What the last launch did, while it is not part of `covered`.
    last: Option<Box<dyn Trail>>,
    /// What is over when the last launch is.
    covered: Footprint,
    /// What may go on even then: no thread of a programmatic launch after it has waited.
    loose: Footprint,
}

impl History {
    /// What there is follows a plain launch that did this to all of some segments.
    pub fn after(deeds: impl IntoIterator<Item = (u32, Deed)>) -> Self {
        let mut history = Self::default();
        for (segment, deed) in deeds {
            history.covered.add_segment(segment, deed);
        }
        history
    }

    /// A launch begins.
    pub fn begin(&mut self, programmatic: bool) {
        let last = self.last.take();
        if !programmatic {
            self.covered = Footprint::default();
        } else if let Some(last) = last {
            self.covered.add(last.footprint());
        }
    }

    /// The launch that began last has ended.
    pub fn end(&mut self, programmatic: bool, effects: Effects) {
        if programmatic && !effects.waited {
            let before = std::mem::take(&mut self.covered);
            self.loose.add(before);
        }
        self.last = effects.trail;
    }

    /// Whether there is nothing that the launch that has begun may overlap.
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty() && self.loose.is_empty()
    }

    /// Whether a thread that has waited may still overlap something.
    #[inline]
    pub fn outlasts_waits(&self) -> bool {
        !self.loose.is_empty()
    }

    /// What an access to the `bytes` of a word meets; `waited`: by a thread that has waited.
    pub fn conflict(&self, segment: u32, word: usize, bytes: u8, writes: bool, waited: bool) -> Option<Early> {
        let early = |footprint: &Footprint, is_covered| {
            let (deed, bytes) = footprint.conflict(segment, word, bytes, writes)?;
            Some(Early { deed, bytes, is_covered })
        };
        let covered = if waited { None } else { early(&self.covered, true) };
        covered.or_else(|| early(&self.loose, false))
    }
}
