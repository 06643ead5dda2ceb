//! Tile tables: what is read, what is refused and in which words, and how plans follow a table.

mod common;

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use splitk_plan::profile::PROFILES;
use splitk_plan::storage::STORAGES;
use splitk_plan::table::Source;
use splitk_plan::{
    DeviceProfile, MAX_GROUP_SIZE, Plan, PlanRequest, PolicyChoice, ScratchLayout, Storage, TableName, TileKey,
    TileTable,
};

use common::request;

/// One row of a file; fields that a test is not about have a value that fits every call.
#[derive(Debug, Clone)]
struct Row {
    arch: &'static str,
    storage: &'static str,
    group_size: &'static str,
    kv_len: String,
    tile: (u32, u32),
    policy: &'static str,
    source: &'static str,
}

impl Row {
    fn new(storage: &'static str) -> Self {
        Self {
            arch: "any",
            storage,
            group_size: "any",
            kv_len: "any".to_owned(),
            tile: (12, 4),
            policy: "one-wave",
            source: "source = \"reasoned\"",
        }
    }

    fn lengths(self, kv_len: impl Into<String>) -> Self {
        Self { kv_len: kv_len.into(), ..self }
    }
}

fn text(rows: &[Row]) -> String {
    let mut text = "schema = \"splitk-tiles/1\"\n".to_owned();
    for Row { arch, storage, group_size, kv_len, tile: (warps, rows), policy, source } in rows {
        write!(
            text,
            "[[row]]\narch = \"{arch}\"\nhead_dim = 256\nstorage = \"{storage}\"\ngroup_size = \"{group_size}\"\n\
             kv_len = \"{kv_len}\"\nwarps = {warps}\nrows = {rows}\npolicy = \"{policy}\"\n{source}\nground = \"a test\"\n"
        )
        .expect("a String takes every write");
    }
    text
}

fn table(rows: &[Row]) -> TileTable {
    TileTable::parse(&text(rows)).expect("a table")
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(TileTable::parse(text).expect_err("a refusal").to_string(), message);
}

/// Short contexts in eight warps and twice the splits.
fn by_length() -> TileTable {
    table(&[
        Row { tile: (8, 4), policy: "fixed:66", ..Row::new("f16").lengths("1-19999") },
        Row::new("f16").lengths("20000-"),
        Row::new("f32"),
    ])
}

#[test]
fn the_table_that_is_built_in_is_the_contracts() {
    let table = TileTable::built_in();
    assert_eq!(table.name(), TableName::Contract);
    assert_eq!(table.name().to_string(), "splitk/1");
    let again = TileTable::parse(table.text()).expect("its own text");
    assert_eq!((again.name(), again.sha256()), (table.name(), table.sha256()));
    assert!(table.rows().iter().all(|row| !row.ground.is_empty()));
}

#[test]
fn every_kind_of_call_has_rows_on_every_device() {
    for &(storage, ..) in STORAGES {
        for group_size in 1..=MAX_GROUP_SIZE {
            for profile in PROFILES {
                let key = TileKey { arch: profile.arch, head_dim: 256, storage, group_size };
                assert!(TileTable::built_in().rows_for(key).count() > 0);
                assert!(TileTable::built_in().row(key, 1).is_ok() && TileTable::built_in().row(key, u32::MAX).is_ok());
            }
        }
    }
}

#[test]
fn a_plan_has_the_tile_and_the_policy_of_its_row_and_the_name_of_its_table() {
    let table = by_length();
    let plan = |kv_len, policy| Plan::by_table(&request(kv_len, policy, "h200"), &table).expect("a plan");
    let name = table.name().to_string();
    assert_eq!(name, format!("tuned-{}", &table.sha256()[..12]));
    let short = plan(19_999, "table");
    assert_eq!((short.n_splits, short.chunk), (66, 304));
    assert_eq!(short.key(), format!("splitk/1|h200|fixed:66|chunk=304|{name}|w8r4v8"));
    assert_eq!(plan(20_000, "table").key(), format!("splitk/1|h200|one-wave|chunk=607|{name}|w12r4v8"));
    // A policy by name is what it was asked for to be, and only the tile is the row's.
    assert_eq!(plan(4_096, "one-wave").key(), format!("splitk/1|h200|one-wave|chunk=125|{name}|w8r4v8"));
    let built_in = Plan::new(&request(4_096, "table", "h200")).expect("a plan");
    assert_eq!(built_in, Plan::new(&request(4_096, "one-wave", "h200")).expect("a plan"));
}

#[test]
fn scratch_holds_every_row_within_the_capacity() {
    let table = by_length();
    let profile: DeviceProfile = "h200".parse().expect("a profile");
    let splits = |capacity, policy: PolicyChoice| {
        let plan =
            Plan::by_table(&PlanRequest { policy, ..request(capacity, "table", "h200") }, &table).expect("a plan");
        ScratchLayout::new(plan.geometry(), capacity, policy, &profile, &table).expect("a layout").max_splits
    };
    assert_eq!(splits(130, PolicyChoice::Table), 3);
    assert_eq!(splits(10_000, PolicyChoice::Table), 66);
    // Longer calls have fewer splits than those of the first row, which the scratch must hold, too.
    assert_eq!(splits(262_144, PolicyChoice::Table), 66);
    assert_eq!(splits(262_144, "one-wave".parse().expect("a policy")), 33);
}

#[test]
fn overlaps_and_gaps_name_the_rows() {
    let only = "allowed: exactly one row for each call";
    let f16 = || Row::new("f16");
    refused(
        &text(&[Row::new("f32"), f16().lengths("1-4096"), f16().lengths("4096-")]),
        &format!(
            "tiles is a table whose rows 2 and 3 both fit (sm_80, head_dim 256, f16, group of 1, kv_len 4096); {only}"
        ),
    );
    refused(
        &text(&[Row::new("f32"), f16(), Row { arch: "121", group_size: "8", ..f16() }]),
        &format!(
            "tiles is a table whose rows 2 and 3 both fit (sm_121, head_dim 256, f16, group of 8, kv_len 1); {only}"
        ),
    );
    let without = |rest: &str| format!("tiles is a table without a row for (sm_{rest}; {only}");
    let call = "head_dim 256, f16, group of 1, kv_len";
    refused(
        &text(&[Row::new("f32"), f16().lengths("1-4095"), f16().lengths("4097-")]),
        &without(&format!("80, {call} 4096) (between rows 2 and 3)")),
    );
    refused(&text(&[f16().lengths("2-"), Row::new("f32")]), &without(&format!("80, {call} 1) (before row 1)")));
    refused(&text(&[f16().lengths("1-9"), Row::new("f32")]), &without(&format!("80, {call} 10) (past row 1)")));
    refused(&text(&[Row { arch: "80-120", ..f16() }, Row::new("f32")]), &without(&format!("121, {call} 1)")));
    refused(&text(&[f16()]), &without("80, head_dim 256, f32, group of 1, kv_len 1)"));
}

#[test]
fn words_and_numbers_that_no_row_has_are_refused() {
    let with = |row: Row| text(&[row, Row::new("f32")]);
    let at = |field: &str, rest: &str| format!("tiles is a table in whose row 1 {field} is {rest}");
    let f16 = || Row::new("f16");
    refused(&with(Row { tile: (33, 4), ..f16() }), &at("warps", "33; allowed: 1 to 32"));
    refused(&with(Row { tile: (8, 3), ..f16() }), &at("rows", "3; allowed: 1, 2, 4, 8"));
    refused(&with(Row { arch: "sm_90", ..f16() }), &at("arch", "\"sm_90\"; allowed: any, N, N-M or N-"));
    refused(&with(f16().lengths("9-1")), &at("kv_len", "\"9-1\"; allowed: any, N, N-M or N-"));
    refused(&with(Row { group_size: "0-8", ..f16() }), &at("group_size", "0-8; allowed: any, or numbers from 1 to 8"));
    refused(&with(Row { storage: "bf16", ..f16() }), &at("storage", "\"bf16\"; allowed: f32, f16"));
    let policies = "note, one-wave, three-quarter-wave, fixed:N, chunk:N with N from 1 to 4294967295";
    refused(&with(Row { policy: "table", ..f16() }), &at("policy", &format!("\"table\"; allowed: {policies}")));
    let source = |line| with(Row { source: line, ..f16() });
    refused(&source("source = \"guessed\""), &at("source", "\"guessed\"; allowed: reasoned, measured"));
    let result = "measured without its result; allowed: result: a SHA-256 in hex";
    refused(&source("source = \"measured\""), &at("source", result));
    refused(&source("source = \"measured\"\nresult = \"ab\""), &at("source", result));
    refused(
        &source("source = \"reasoned\"\nresult = \"ab\""),
        &at("source", "reasoned with a result; allowed: measured"),
    );
}

#[test]
fn a_text_that_is_no_table_is_refused_in_one_line() {
    refused("", "tiles is no table (line 1: missing field `schema`); allowed: TOML of schema \"splitk-tiles/1\"");
    refused("schema = \"splitk-tiles/2\"", "tiles is of schema \"splitk-tiles/2\"; allowed: \"splitk-tiles/1\"");
    let more = text(&[Row::new("f16")]).replace("rows = 4", "rows = 4\nspeed = 9");
    let error = TileTable::parse(&more).expect_err("a refusal").to_string();
    assert!(error.starts_with("tiles is no table (line 10: unknown field `speed`"), "{error}");
    let absent = TileTable::load(Path::new("no/such/tiles.toml")).expect_err("a refusal").to_string();
    assert!(absent.starts_with("tiles is no/such/tiles.toml, which cannot be read ("), "{absent}");
    let many = vec![Row::new("f16"); 1001];
    refused(&text(&many), "tiles is 1001 rows; allowed: at most 1000");
}

#[test]
fn a_measured_row_keeps_the_digest_of_its_result() {
    let sha256 = "0123456789abcdef".repeat(4);
    let line = format!("source = \"measured\"\nresult = \"{sha256}\"");
    let read = table(&[Row { source: line.leak(), ..Row::new("f16") }, Row::new("f32")]);
    assert_eq!(read.rows()[0].source, Source::Measured(sha256));
    assert_eq!(read.rows()[1].source, Source::Reasoned);
}

/// Row lengths that begin at 1 and cut the lengths at some places.
fn cuts() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::btree_set(2_u32..=300, 0..6).prop_map(|cuts| cuts.into_iter().collect())
}

proptest! {
    #[test]
    fn one_row_is_found_for_every_length_of_a_table_that_is_taken(cuts in cuts(), dropped in any::<prop::sample::Index>()) {
        let starts: Vec<u32> = std::iter::once(1).chain(cuts).collect();
        let ends = starts.iter().skip(1).map(|next| (next - 1).to_string()).chain([String::new()]);
        let mut rows: Vec<Row> =
            starts.iter().zip(ends).map(|(first, last)| Row::new("f16").lengths(format!("{first}-{last}"))).collect();
        rows.push(Row::new("f32"));
        let read = table(&rows);
        let key = TileKey { arch: 90, head_dim: 256, storage: Storage::F16, group_size: 4 };
        for kv_len in 1..=301 {
            let fitting = read.rows().iter().filter(|row| row.is_for(key) && row.kv_len.holds(kv_len)).count();
            prop_assert_eq!(fitting, 1);
            prop_assert!(read.row(key, kv_len).is_ok_and(|row| row.kv_len.holds(kv_len)));
        }
        let mut doubled = rows.clone();
        doubled.push(rows[dropped.index(rows.len())].clone());
        prop_assert!(TileTable::parse(&text(&doubled)).is_err());
        rows.remove(dropped.index(rows.len()));
        prop_assert!(TileTable::parse(&text(&rows)).is_err());
    }

    #[test]
    fn any_text_is_a_table_or_a_one_line_error(noise in any::<String>()) {
        for text in [noise.clone(), format!("schema = \"splitk-tiles/1\"\n{noise}")] {
            if let Err(error) = TileTable::parse(&text) {
                prop_assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }
}
