//! The accesses that words of memory remember.

use super::record::{Actor, Clash, PENDING, Record};

/// A word's last write and its reads since, while one record each says all. Others go to a [`Crowd`].
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    write: Record,
    read: Record,
    /// One more than the index of the word's crowd.
    crowd: u32,
}

/// The accesses to a word that many threads share.
#[derive(Debug, Default)]
struct Crowd {
    cell: usize,
    /// Weak ones.
    writes: Vec<Record>,
    /// By unit.
    reads: Vec<Record>,
    /// Strong ones, by unit.
    strong: Vec<Record>,
    /// Bytes of all of those, if the same.
    size: Option<u8>,
    /// Some are narrower than the grid.
    is_narrow: bool,
}

/// Takes out what `new` supersedes.
fn retire(records: &mut Vec<Record>, by: &Actor<'_>, new: &Record) {
    records.retain_mut(|old| {
        old.lanes &= !by.superseded(old, new);
        old.lanes != 0
    });
}

/// Puts `new` among records sorted by unit, if it takes the place of another or there is room for more, and takes out
/// what it supersedes of the same warp.
fn insert(records: &mut Vec<Record>, by: &Actor<'_>, new: &Record, has_room: bool) {
    let first = records.partition_point(|r| r.unit < new.unit);
    let end = first + records[first..].iter().take_while(|r| r.unit == new.unit).count();
    let mut free = None;
    for (i, old) in records.iter_mut().enumerate().take(end).skip(first) {
        old.lanes &= !by.superseded(old, new);
        if old.lanes != 0 && old.is_same_step(new) {
            old.lanes |= new.lanes;
            return;
        }
        if old.lanes == 0 {
            free = Some(i);
        }
    }
    match free {
        Some(i) => records[i] = *new,
        None if has_room => records.insert(end, *new),
        None => {}
    }
}

impl Crowd {
    fn check(&self, by: &Actor<'_>, new: &Record) -> Result<(), Clash> {
        self.writes.iter().try_for_each(|old| by.check(old, new))?;
        if new.how.writes {
            self.reads.iter().try_for_each(|old| by.check(old, new))?;
        }
        // However many atomic operations meet on a word, they need not be held against each other one by one.
        let is_mutual = !new.how.is_weak() && self.size == Some(new.how.size) && !self.is_narrow && new.how.is_wide();
        if is_mutual { Ok(()) } else { self.strong.iter().try_for_each(|old| by.check(old, new)) }
    }

    fn len(&self) -> usize {
        self.writes.len() + self.reads.len() + self.strong.len()
    }

    fn add(&mut self, by: &Actor<'_>, new: &Record, has_room: bool) {
        if new.how.is_weak() {
            retire(&mut self.strong, by, new);
        }
        retire(&mut self.writes, by, new);
        if new.how.writes {
            retire(&mut self.reads, by, new);
        }
        match (new.how.is_weak(), new.how.writes) {
            (true, true) => self.writes.push(*new),
            (true, false) => insert(&mut self.reads, by, new, has_room),
            (false, _) => {
                let is_first = self.strong.is_empty();
                self.size = if is_first || self.size == Some(new.how.size) { Some(new.how.size) } else { None };
                self.is_narrow = !new.how.is_wide() || (self.is_narrow && !is_first);
                insert(&mut self.strong, by, new, has_room);
            }
        }
    }

    /// Whether a cell can hold all of it.
    fn is_small(&self) -> bool {
        self.writes.len() <= 1 && self.reads.len() <= 1 && self.strong.is_empty()
    }

    fn writers(&self) -> impl Iterator<Item = &Record> {
        self.writes.iter().chain(self.strong.iter().filter(|r| r.how.writes))
    }
}

/// Words with what they remember.
#[derive(Debug, Default)]
pub(super) struct Words {
    cells: Box<[Cell]>,
    crowds: Vec<Crowd>,
    /// Crowds that are no longer needed.
    free: Vec<u32>,
    /// Records in crowds, and the most that there may be.
    crowded: usize,
    most: usize,
}

impl Words {
    /// `count` words, of which crowds remember `most` records in all. Later readers are then left out.
    pub fn new(count: usize, most: usize) -> Self {
        Self { cells: vec![Cell::default(); count].into(), most, ..Self::default() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.cells.fill(Cell::default());
        self.crowds.clear();
        self.free.clear();
        self.crowded = 0;
    }

    /// Forgets what many threads share; the rest may stay, if its times are known to all.
    pub fn clear_crowds(&mut self) {
        for crowd in self.crowds.drain(..) {
            self.cells[crowd.cell] = Cell::default();
        }
        self.free.clear();
        self.crowded = 0;
    }

    /// Remembers a read of word `i`, or says with which write it races.
    #[inline]
    pub fn read(&mut self, i: usize, by: &Actor<'_>, new: &Record) -> Result<(), Clash> {
        let cell = &mut self.cells[i];
        if cell.crowd == 0 && new.how.is_weak() {
            by.check(&cell.write, new)?;
            let old = &mut cell.read;
            if old.is_none() || by.superseded(old, new) == old.lanes {
                *old = *new;
                return Ok(());
            }
            if old.is_same_step(new) {
                old.lanes |= new.lanes;
                return Ok(());
            }
        }
        self.join_crowd(i, by, new)
    }

    /// Remembers a write of word `i`, or says with which access it races.
    #[inline]
    pub fn write(&mut self, i: usize, by: &Actor<'_>, new: &Record) -> Result<(), Clash> {
        let cell = &mut self.cells[i];
        if cell.crowd == 0 && new.how.is_weak() {
            by.check(&cell.write, new)?;
            by.check(&cell.read, new)?;
            if cell.write.is_none() || by.superseded(&cell.write, new) == cell.write.lanes {
                if by.superseded(&cell.read, new) == cell.read.lanes {
                    cell.read = Record::default();
                }
                cell.write = *new;
                return Ok(());
            }
        }
        self.join_crowd(i, by, new)
    }

    #[inline(never)]
    fn join_crowd(&mut self, i: usize, by: &Actor<'_>, new: &Record) -> Result<(), Clash> {
        let has_room = self.crowded < self.most;
        self.with_crowd(i, |crowd| {
            crowd.check(by, new)?;
            crowd.add(by, new, has_room);
            Ok(())
        })
    }

    /// Calls `f` with the crowd of word `i`, which is made of its cell before and goes back there after where it can.
    fn with_crowd<T>(&mut self, i: usize, f: impl FnOnce(&mut Crowd) -> T) -> T {
        let before = match self.cells[i].crowd {
            0 => 0,
            n => self.crowds[n as usize - 1].len(),
        };
        let crowd = self.crowd(i);
        let result = f(crowd);
        let mut after = crowd.len();
        if crowd.is_small() {
            after = 0;
            let (write, read) = (crowd.writes.pop(), crowd.reads.pop());
            let cell = &mut self.cells[i];
            self.free.push(cell.crowd);
            *cell = Cell { write: write.unwrap_or_default(), read: read.unwrap_or_default(), crowd: 0 };
        }
        self.crowded = self.crowded + after - before;
        result
    }

    /// The crowd of word `i`, made of its cell if there is none yet.
    fn crowd(&mut self, i: usize) -> &mut Crowd {
        let cell = &mut self.cells[i];
        if cell.crowd == 0 {
            cell.crowd = self.free.pop().unwrap_or_else(|| {
                self.crowds.push(Crowd::default());
                self.crowds.len() as u32
            });
            let crowd = &mut self.crowds[cell.crowd as usize - 1];
            crowd.cell = i;
            crowd.writes.extend(Some(cell.write).filter(|r| !r.is_none()));
            crowd.reads.extend(Some(cell.read).filter(|r| !r.is_none()));
        }
        &mut self.crowds[self.cells[i].crowd as usize - 1]
    }

    /// The first remembered write to some of the bytes of word `i`, whatever orders it.
    pub fn writer(&self, i: usize, bytes: u8) -> Option<Record> {
        let cell = &self.cells[i];
        let overlaps = |r: &&Record| !r.is_none() && r.how.bytes & bytes != 0;
        match cell.crowd {
            0 => Some(&cell.write).filter(overlaps).copied(),
            n => self.crowds[n as usize - 1].writers().find(overlaps).copied(),
        }
    }

    /// The bytes of word `i` that remembered accesses write, and those that others read.
    #[inline]
    pub fn touched(&self, i: usize) -> (u8, u8) {
        let cell = &self.cells[i];
        if cell.crowd == 0 {
            return (cell.write.how.bytes, cell.read.how.bytes);
        }
        let crowd = &self.crowds[cell.crowd as usize - 1];
        let all = crowd.writes.iter().chain(&crowd.reads).chain(&crowd.strong);
        all.fold(
            (0, 0),
            |(written, read), Record { how, .. }| {
                if how.writes { (written | how.bytes, read) } else { (written, read | how.bytes) }
            },
        )
    }

    /// Whether a strong access to word `i` is remembered.
    pub fn has_strong(&self, i: usize) -> bool {
        let crowd = self.cells[i].crowd;
        crowd != 0 && !self.crowds[crowd as usize - 1].strong.is_empty()
    }

    /// What a lane's asynchronous copy did to word `i` is now over, at `time`.
    #[inline]
    pub fn land(&mut self, i: usize, unit: u32, lane: u32, time: u32) {
        let is_due = |r: &Record| r.time == PENDING && r.unit == unit && r.lanes >> lane & 1 != 0;
        let cell = &mut self.cells[i];
        if cell.crowd == 0 && is_due(&cell.write) {
            cell.write.time = time;
        } else {
            self.land_in_crowd(i, unit, lane, time);
        }
    }

    fn land_in_crowd(&mut self, i: usize, unit: u32, lane: u32, time: u32) {
        let is_due = |r: &Record| r.time == PENDING && r.unit == unit && r.lanes >> lane & 1 != 0;
        let cell = &self.cells[i];
        if cell.crowd == 0 && !is_due(&cell.read) {
            return;
        }
        self.with_crowd(i, |crowd| {
            for records in [&mut crowd.writes, &mut crowd.reads] {
                while let Some(due) = records.iter().position(is_due) {
                    records[due].lanes &= !(1 << lane);
                    let landed = Record { lanes: 1 << lane, time, ..records[due] };
                    records.insert(due, landed);
                    records.retain(|r| r.lanes != 0);
                }
            }
        });
    }
}
