//! A table's TOML, turned into rows. Every refusal is one line that names the row.

use std::str::FromStr;

use serde::Deserialize;

use super::range::Span;
use super::{Source, TileRow};
use crate::geometry::{MAX_GROUP_SIZE, SUPPORTED_HEAD_DIMS};
use crate::{PlanError, Policy, Storage};

/// The form of file that is read.
const SCHEMA: &str = "splitk-tiles/1";
/// Far more than kinds of calls that anyone measures; keeps a wrong file from taking long.
const MAX_ROWS: usize = 1000;
/// Threads of a block end at 1024.
const MAX_WARPS: u32 = 32;
/// Rows a warp step that the CPU twin knows.
const STEP_ROWS: &[u32] = &[1, 2, 4, 8];
const SHA256_DIGITS: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    #[serde(default)]
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    arch: String,
    head_dim: u32,
    storage: String,
    group_size: String,
    kv_len: String,
    warps: u32,
    rows: u32,
    policy: String,
    source: String,
    ground: String,
    result: Option<String>,
}

/// The rows of a text.
pub fn rows(text: &str) -> Result<Vec<TileRow>, PlanError> {
    let file: File = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
    if file.schema != SCHEMA {
        return Err(PlanError::new("tiles", format!("of schema {:?}", file.schema), format!("{SCHEMA:?}")));
    }
    if file.row.len() > MAX_ROWS {
        return Err(PlanError::new("tiles", format!("{} rows", file.row.len()), format!("at most {MAX_ROWS}")));
    }
    file.row.iter().enumerate().map(|(index, row)| row.read(index + 1)).collect()
}

impl Row {
    /// The row, `number` being its place from 1 on.
    fn read(&self, number: usize) -> Result<TileRow, PlanError> {
        let refuse = |field: &str, value: &str, allowed: String| {
            PlanError::new("tiles", format!("a table in whose row {number} {field} is {value}"), allowed)
        };
        let span = |field: &str, text: &str| {
            Span::from_str(text).map_err(|()| refuse(field, &format!("{text:?}"), "any, N, N-M or N-".to_owned()))
        };
        let word = |error: PlanError| refuse(error.field, &error.value, error.allowed);
        if !SUPPORTED_HEAD_DIMS.contains(&self.head_dim) {
            return Err(refuse("head_dim", &self.head_dim.to_string(), listed(SUPPORTED_HEAD_DIMS)));
        }
        if !(1..=MAX_WARPS).contains(&self.warps) {
            return Err(refuse("warps", &self.warps.to_string(), format!("1 to {MAX_WARPS}")));
        }
        if !STEP_ROWS.contains(&self.rows) {
            return Err(refuse("rows", &self.rows.to_string(), listed(STEP_ROWS)));
        }
        let groups = Span { first: 1, last: MAX_GROUP_SIZE };
        let stated = span("group_size", &self.group_size)?;
        let group_size = if stated == Span::ANY { groups } else { stated };
        if !groups.holds(group_size.first) || !groups.holds(group_size.last) {
            return Err(refuse("group_size", &self.group_size, format!("any, or numbers from 1 to {MAX_GROUP_SIZE}")));
        }
        Ok(TileRow {
            arch: span("arch", &self.arch)?,
            head_dim: self.head_dim,
            storage: self.storage.parse::<Storage>().map_err(word)?,
            group_size,
            kv_len: span("kv_len", &self.kv_len)?,
            warps: self.warps,
            rows: self.rows,
            policy: self.policy.parse::<Policy>().map_err(word)?,
            source: self.source().map_err(|(value, allowed)| refuse("source", &value, allowed))?,
            ground: self.ground.clone(),
        })
    }

    /// What the row rests on, or what is said of it and what is allowed.
    fn source(&self) -> Result<Source, (String, String)> {
        match (self.source.as_str(), &self.result) {
            ("reasoned", None) => Ok(Source::Reasoned),
            ("measured", Some(result)) if is_sha256(result) => Ok(Source::Measured(result.clone())),
            ("measured", _) => Err(("measured without its result".to_owned(), "result: a SHA-256 in hex".to_owned())),
            ("reasoned", Some(_)) => Err(("reasoned with a result".to_owned(), "measured".to_owned())),
            (other, _) => Err((format!("{other:?}"), "reasoned, measured".to_owned())),
        }
    }
}

fn is_sha256(text: &str) -> bool {
    text.len() == SHA256_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn unreadable(text: &str, error: &toml::de::Error) -> PlanError {
    let place = error.span().map_or(String::new(), |span| {
        let before = text.get(..span.start).unwrap_or(text);
        format!("line {}: ", before.matches('\n').count() + 1)
    });
    let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    PlanError::new("tiles", format!("no table ({place}{message})"), format!("TOML of schema {SCHEMA:?}"))
}
