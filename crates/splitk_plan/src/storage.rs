//! How the elements of K and V are stored. All arithmetic is f32, whatever the storage.

use std::fmt;
use std::str::FromStr;

use crate::PlanError;

/// Element type of K and V in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Storage {
    /// IEEE binary32.
    F32,
    /// IEEE binary16, widened exactly to f32 when read.
    F16,
}

/// Every storage type, with its word (used in entry names, cases and receipts) and its size in bytes.
pub const STORAGES: &[(Storage, &str, u32)] = &[(Storage::F32, "f32", 4), (Storage::F16, "f16", 2)];

impl Storage {
    fn row(self) -> &'static (Self, &'static str, u32) {
        STORAGES.iter().find(|row| row.0 == self).expect("every storage has its row in STORAGES")
    }

    /// The word of this storage: `f32` or `f16`.
    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// Bytes of one element.
    pub fn bytes(self) -> u32 {
        self.row().2
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Storage {
    type Err = PlanError;

    fn from_str(word: &str) -> Result<Self, PlanError> {
        STORAGES
            .iter()
            .find(|row| row.1 == word)
            .map(|row| row.0)
            .ok_or_else(|| PlanError::unknown_word("storage", word, STORAGES.iter().map(|row| row.1)))
    }
}
