//! Columns of conversations: lists of structs with an author and a text, as chat APIs (`role`, `content`) and ShareGPT
//! (`from`, `value`) have them.
//!
//! As in `abi`, all that can be checked is: that arrays have the buffers and children of their types, and that lists end within
//! their items.

#![allow(unsafe_code)]

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use toolglot::layer::{AUTHORS, TEXTS, is_model};

use super::abi::{Array, Layout, Rows, Schema, broken, wrong};

/// Where author and text of a message may be. Tables that mix data sets have both names, and null under one of them.
pub struct Messages {
    /// Offsets have 64 bits.
    wide: bool,
    author: Vec<Field>,
    text: Vec<Field>,
}

/// A field of messages: its number, and the type of its column.
struct Field {
    at: usize,
    layout: Layout,
}

/// A field of the messages of an array.
struct Column<'a> {
    layout: Layout,
    rows: &'a Array,
    /// The row of the first message.
    first: usize,
}

impl Messages {
    /// The type of a column; `None` if it has no lists.
    pub fn of(schema: &Schema) -> PyResult<Option<Self>> {
        let format = schema.format();
        if format != "+l" && format != "+L" {
            return Ok(None);
        }
        let items = children(schema)?;
        let [message] = items.as_slice() else {
            return Err(wrong(&format));
        };
        if message.format() != "+s" {
            return Err(wrong(&format!("{format} of {}", message.format())));
        }
        let fields = children(message)?;
        let field = |names: [&str; 2]| {
            let mut found = vec![];
            for name in names {
                if let Some(at) = fields.iter().position(|field| field.name() == name) {
                    let layout = Layout::of(fields[at])?;
                    found.push(Field { at, layout });
                }
            }
            if found.is_empty() {
                let names = names.join(" or ");
                let why = format!("column: its messages have no field {names}");
                return Err(PyTypeError::new_err(why));
            }
            Ok(found)
        };
        Ok(Some(Self {
            wide: format == "+L",
            author: field(AUTHORS)?,
            text: field(TEXTS)?,
        }))
    }

    /// Adds the messages of an array: a text for each of them that is the model's.
    pub fn rows<'a>(&self, lists: &'a Array, rows: &mut Rows<'a>) -> PyResult<()> {
        let messages = child(lists, 0)?;
        let known = messages.rows(1)?;
        let authors = columns(messages, &self.author, known.end)?;
        let texts = columns(messages, &self.text, known.end)?;
        let sizes = rows.lists.get_or_insert_default();
        for row in lists.rows(2)? {
            // SAFETY: the row is within the array, which has two buffers.
            if unsafe { !lists.valid(row) } {
                sizes.push(None);
                continue;
            }
            // SAFETY: as above; the type says how wide the offsets are.
            let (start, end) = unsafe { lists.ends(row, self.wide)? };
            let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
                return Err(broken());
            };
            if start > end || end > known.len() {
                return Err(broken());
            }
            sizes.push(Some(end - start));
            for item in known.start + start..known.start + end {
                // SAFETY: the item is within the messages, which have a buffer, and its fields within theirs, as `covers` checked.
                rows.texts.push(unsafe {
                    let author = match messages.valid(item) {
                        true => first_of(&authors, item)?,
                        false => None,
                    };
                    match author.and_then(|author| str::from_utf8(author).ok()) {
                        Some(author) if is_model(author) => first_of(&texts, item)?,
                        _ => None,
                    }
                });
            }
        }
        Ok(())
    }
}

/// These fields of messages.
fn columns<'a>(messages: &'a Array, fields: &[Field], rows: usize) -> PyResult<Vec<Column<'a>>> {
    let column = |field: &Field| {
        let column = child(messages, field.at)?;
        let first = covers(field.layout, column, rows)?;
        Ok(Column {
            layout: field.layout,
            rows: column,
            first,
        })
    };
    fields.iter().map(column).collect()
}

/// What the first of these fields says that is not null.
///
/// # Safety
/// The item is within the messages.
unsafe fn first_of<'a>(columns: &[Column<'a>], item: usize) -> PyResult<Option<&'a [u8]>> {
    for column in columns {
        // SAFETY: guaranteed by the caller, and by `covers`.
        let said = unsafe { column.layout.row(column.rows, column.first + item)? };
        if said.is_some() {
            return Ok(said);
        }
    }
    Ok(None)
}

fn children(schema: &Schema) -> PyResult<Vec<&Schema>> {
    let count = usize::try_from(schema.n_children).map_err(|_| broken())?;
    if count > 0 && schema.children.is_null() {
        return Err(broken());
    }
    // SAFETY: there are as many children as the schema says, and they live as long as it.
    let child = |at: usize| unsafe { (*schema.children.add(at)).as_ref() };
    (0..count).map(|at| child(at).ok_or_else(broken)).collect()
}

fn child(array: &Array, at: usize) -> PyResult<&Array> {
    let count = usize::try_from(array.n_children).map_err(|_| broken())?;
    if at >= count || array.children.is_null() {
        return Err(broken());
    }
    // SAFETY: as above.
    unsafe { (*array.children.add(at)).as_ref() }.ok_or_else(broken)
}

/// Checks that a field has a row for each of its struct's, and returns its first.
fn covers(layout: Layout, field: &Array, rows: usize) -> PyResult<usize> {
    let own = layout.rows(field)?;
    match own.len() >= rows {
        true => Ok(own.start),
        false => Err(broken()),
    }
}
