//! Columns of transcripts in, columns of turns out, through the Arrow PyCapsule interface: without a copy of the input,
//! and without an Arrow library.
//!
//! Each input row gives one output row: a turn, or for a conversation a list with a turn for each message of the model. The rows of a batch are read with the interpreter released; between batches
//! pending signals are handled.

mod abi;
mod column;
mod messages;
mod turns;

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use toolglot::{Collect, Finish};

use self::column::{Column, ListColumn};
use self::turns::{FIELDS, Fill, VERSION};
use crate::engine::{Core, Engine};
use crate::guard::{Failure, caught, entry};
use crate::options;

/// Rows per batch.
const BATCH: usize = 1024;

/// Columns of turns. Made by `toolglot.arrow.parse`. Every Arrow library accepts it: `pyarrow.array(turns)` is one struct
/// column, `pyarrow.table(turns)` has its fields as columns. Of conversations it is a column of lists.
#[pyclass(frozen, module = "toolglot.arrow")]
pub struct Turns {
    column: Arc<Column>,
}

#[pymethods]
impl Turns {
    fn __len__(&self) -> usize {
        self.column.length
    }

    fn __repr__(&self) -> String {
        format!("<toolglot.arrow.Turns of {} rows>", self.column.length)
    }

    /// The type of the column, as a capsule.
    #[pyo3(signature = () -> "object")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        abi::schema(py, &self.column, metadata())
    }

    /// The column, as two capsules. Its type is fixed: a requested type is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema: "object" = None) -> "tuple[object, object]")]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        Ok((
            abi::schema(py, &self.column, metadata())?,
            abi::array(py, &self.column)?,
        ))
    }

    /// Its fields, as a stream of one record batch. Where a row is null, all its fields are null. Of conversations: its lists.
    #[pyo3(signature = (requested_schema: "object" = None) -> "object")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        abi::stream(py, &self.column, metadata())
    }
}

/// One key-value pair in the metadata encoding of the interface: counts and lengths in native byte order.
fn metadata() -> Vec<u8> {
    let mut out = 1_i32.to_ne_bytes().to_vec();
    for text in ["toolglot.schema", VERSION] {
        let length = i32::try_from(text.len()).unwrap_or_default();
        out.extend(length.to_ne_bytes());
        out.extend(text.as_bytes());
    }
    out
}

/// Parses every row of a column of text. Use `toolglot.arrow.parse`.
#[pyfunction]
#[pyo3(signature = (
    engine: "Engine",
    column: "Any",
    columns: "list[str]",
    finish: "Literal['stop', 'length', 'tool_calls', 'error', 'cancelled']",
) -> "Turns")]
pub fn parse_arrow(
    py: Python<'_>,
    engine: &Bound<'_, Engine>,
    column: &Bound<'_, PyAny>,
    columns: Vec<String>,
    finish: &str,
) -> PyResult<Turns> {
    if let Some(other) = columns.iter().find(|name| !FIELDS.contains(&name.as_str())) {
        let known = FIELDS.join(", ");
        let why = format!("columns: there is no {other:?}; there are {known}");
        return Err(PyValueError::new_err(why));
    }
    let finish = options::finish(finish)?;
    let core = engine.get().core.clone();
    entry(|| {
        let texts = abi::Texts::of(column)?;
        let rows = texts.rows()?;
        let mut fill = Fill::new(&columns);
        for batch in rows.texts.chunks(BATCH) {
            py.detach(|| caught(|| read(&core, batch, finish, &mut fill)))??;
            py.check_signals()?;
        }
        let column = Arc::new(match rows.lists {
            None => fill.column(""),
            Some(sizes) => listed(&sizes, fill)?,
        });
        Ok(Turns { column })
    })
}

/// A list of turns for each conversation.
fn listed(sizes: &[Option<usize>], fill: Fill) -> Result<Column, Failure> {
    let (mut lists, mut end) = (ListColumn::default(), 0);
    for size in sizes {
        end += size.unwrap_or_default();
        lists.push(size.is_some(), end)?;
    }
    Ok(lists.column("", fill.column("item")))
}

fn read(
    core: &Core,
    rows: &[Option<&[u8]>],
    finish: Finish,
    fill: &mut Fill,
) -> Result<(), Failure> {
    let mut parser = core.parser();
    for row in rows {
        let Some(bytes) = row else {
            fill.push(None)?;
            continue;
        };
        let mut turn = Collect::new();
        parser.reset();
        parser.feed(bytes, &mut turn);
        parser.finish(finish, &mut turn);
        turn.hint(core.options.hinted());
        fill.push(Some(&turn.turn()))?;
    }
    Ok(())
}
