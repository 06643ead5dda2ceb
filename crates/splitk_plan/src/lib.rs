//! What every arm of split-K decode attention shares, and nothing that computes: geometry, split policies, device
//! profiles, the tile table, the plan of a call and the layout of its scratch.
//!
//! Everything here is a pure function of numbers. The rules are sections 2, 3 and 8 of `docs/contract.md`, version
//! [`CONTRACT`]; the splits and the tile decide the bits of a result, so a plan is made once and handed to every arm.
//!
//! | to add | touch |
//! |---|---|
//! | a split policy | one row of [`policy::RULES`] |
//! | a device profile | one row of [`profile::PROFILES`] |
//! | a tile | a row of `src/tiles.toml`, the table that is built in |
//! | a storage type | one row of [`storage::STORAGES`], its enum variant above, and its tile rows |

mod error;
mod geometry;
mod plan;
pub mod policy;
pub mod profile;
mod scratch;
pub mod storage;
pub mod table;
pub mod tile;

pub use error::PlanError;
pub use geometry::{Geometry, MAX_GROUP_SIZE, SUPPORTED_HEAD_DIMS};
pub use plan::{MAX_SPLITS, MIN_CHUNK, Plan, PlanRequest, max_splits};
pub use policy::{Policy, PolicyChoice};
pub use profile::DeviceProfile;
pub use scratch::ScratchLayout;
pub use storage::Storage;
pub use table::{TableName, TileKey, TileRow, TileTable};
pub use tile::Tile;

/// Version of the numeric contract that the plans of this crate belong to.
pub const CONTRACT: &str = "splitk/1";
