//! `rust_kernel.plan.TileTable`: the tile table that is built in, or another one.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use splitk_plan::table::{Source, Span};
use splitk_plan::{TileRow, TileTable};

use crate::arguments::{word, wrong_type};
use crate::errors::plan_error;
use crate::plan::PyTile;

/// A table in which exactly one row fits each supported call.
#[pyclass(name = "TileTable", module = "rust_kernel.plan", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyTileTable(pub Arc<TileTable>);

#[pymethods]
impl PyTileTable {
    /// The contract's table, which is built in.
    #[staticmethod]
    fn built_in() -> Self {
        Self(TileTable::built_in())
    }

    /// Reads a file.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "Python hands over a path of its own")]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        TileTable::load(&path).map(|table| Self(Arc::new(table))).map_err(|error| plan_error(py, &error))
    }

    /// Reads a text.
    #[staticmethod]
    fn parse(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let content = word("text", text)?;
        TileTable::parse(&content).map(|table| Self(Arc::new(table))).map_err(|error| plan_error(text.py(), &error))
    }

    #[getter]
    fn name(&self) -> String {
        self.0.name().to_string()
    }

    #[getter]
    fn sha256(&self) -> &str {
        self.0.sha256()
    }

    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0.rows().iter().map(|row| as_dict(py, row)).collect()
    }

    fn __hash__(&self) -> u64 {
        let mut state = DefaultHasher::new();
        self.0.text().hash(&mut state);
        state.finish()
    }

    fn __repr__(&self) -> String {
        format!("TileTable(name='{}', rows={})", self.0.name(), self.0.rows().len())
    }
}

/// The rows of the table that is built in.
#[pyfunction]
pub fn tile_table(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    PyTileTable::built_in().rows(py)
}

/// The table that a call is planned by: the one that is given, or the one that is built in.
pub fn table_of(value: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<TileTable>> {
    let Some(value) = value else { return Ok(TileTable::built_in()) };
    match value.cast::<PyTileTable>() {
        Ok(table) => Ok(Arc::clone(&table.get().0)),
        Err(_) => Err(wrong_type("tiles", value, "a TileTable or None").into()),
    }
}

fn as_dict<'py>(py: Python<'py>, row: &TileRow) -> PyResult<Bound<'py, PyDict>> {
    let pair = |span: Span| (span.first, span.last);
    let (source, result) = match &row.source {
        Source::Reasoned => ("reasoned", None),
        Source::Measured(result) => ("measured", Some(result)),
    };
    let dict = PyDict::new(py);
    dict.set_item("arch", pair(row.arch))?;
    dict.set_item("head_dim", row.head_dim)?;
    dict.set_item("storage", row.storage.word())?;
    dict.set_item("group_size", pair(row.group_size))?;
    dict.set_item("kv_len", pair(row.kv_len))?;
    dict.set_item("tile", PyTile::from(row.tile()))?;
    dict.set_item("policy", row.policy.to_string())?;
    dict.set_item("source", source)?;
    dict.set_item("result", result)?;
    dict.set_item("ground", &row.ground)?;
    Ok(dict)
}
