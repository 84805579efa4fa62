//! The Arrow C data interface. Only this file and `messages` read raw pointers, and only this one exports them.
//!
//! The structures follow the specification; one whose `release` is null has been moved or released. Imported structures are
//! moved in, and released on drop. Exported ones keep a reference to a [`Column`] until their consumer releases them.
//!
//! Two promises of a producer cannot be checked: that buffers are as long as offset, length and format imply, and that they do
//! not change. Everything else (formats, null pointers, counts, the order of offsets) is checked.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::column::Column;
use super::messages::Messages;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";
const NULLABLE: i64 = 2;

#[repr(C)]
pub struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    pub(super) n_children: i64,
    pub(super) children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    pub(super) n_children: i64,
    buffers: *mut *const c_void,
    pub(super) children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// The three structures are plain data, and own what `release` frees.
macro_rules! structure {
    ($name:ident { $($field:ident: $value:expr),* }) => {
        impl $name {
            fn released() -> Self {
                Self { $($field: $value,)* release: None, private_data: null_mut() }
            }

            /// Moves the structure out of where a producer has put it.
            ///
            /// # Safety
            /// `from` must point to a structure of this kind that nobody else uses.
            unsafe fn taken(from: *mut Self) -> Self {
                // SAFETY: as the caller promises; the original counts as moved from now on.
                unsafe { std::ptr::replace(from, Self::released()) }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the structure is ours, and has not been released.
                    unsafe { release(self) };
                }
            }
        }

        // SAFETY: the interface requires that a structure can be used and released on any thread, by one thread at a time.
        unsafe impl Send for $name {}
    };
}

structure!(Schema {
    format: null(),
    name: null(),
    metadata: null(),
    flags: 0,
    n_children: 0,
    children: null_mut(),
    dictionary: null_mut()
});
structure!(Array {
    length: 0,
    null_count: 0,
    offset: 0,
    n_buffers: 0,
    n_children: 0,
    buffers: null_mut(),
    children: null_mut(),
    dictionary: null_mut()
});
structure!(Stream {
    get_schema: None,
    get_next: None,
    get_last_error: None
});

/// The memory layout of a column of text.
#[derive(Clone, Copy)]
pub enum Layout {
    Offsets32,
    Offsets64,
    Views,
    Nulls,
}

/// What a column holds.
enum Kind {
    Texts(Layout),
    Messages(Messages),
}

/// An imported column of text, or of conversations.
pub struct Texts {
    kind: Kind,
    chunks: Vec<Array>,
}

/// The texts of a column.
#[derive(Default)]
pub struct Rows<'a> {
    /// In order; nulls are `None`, and so are messages of others than the model.
    pub texts: Vec<Option<&'a [u8]>>,
    /// How many messages each row has, if the rows are conversations; nulls are `None`.
    pub lists: Option<Vec<Option<usize>>>,
}

impl Texts {
    /// Imports a column from an object with the methods of the interface.
    pub fn of(column: &Bound<'_, PyAny>) -> PyResult<Self> {
        if column.hasattr("__arrow_c_array__")? {
            let pair = column.call_method0("__arrow_c_array__")?;
            let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            // SAFETY: a capsule of this name holds this structure.
            let (schema, array) = unsafe {
                (
                    Schema::taken(inside(&schema, SCHEMA)?),
                    Array::taken(inside(&array, ARRAY)?),
                )
            };
            return Self::new(&schema, vec![array]);
        }
        if column.hasattr("__arrow_c_stream__")? {
            let capsule = column.call_method0("__arrow_c_stream__")?;
            // SAFETY: as above.
            let mut stream = unsafe { Stream::taken(inside(&capsule, STREAM)?) };
            let (schema, chunks) = stream.read()?;
            return Self::new(&schema, chunks);
        }
        let class = column.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "column: an Arrow array, chunked array or column with __arrow_c_array__ or __arrow_c_stream__ is needed, not {class}"
        )))
    }

    fn new(schema: &Schema, chunks: Vec<Array>) -> PyResult<Self> {
        if schema.release.is_none() || chunks.iter().any(|chunk| chunk.release.is_none()) {
            return Err(PyValueError::new_err("column: already consumed"));
        }
        let kind = match Messages::of(schema)? {
            Some(messages) => Kind::Messages(messages),
            None => Kind::Texts(Layout::of(schema)?),
        };
        Ok(Self { kind, chunks })
    }

    /// The texts in order.
    pub fn rows(&self) -> PyResult<Rows<'_>> {
        let mut rows = Rows::default();
        for chunk in &self.chunks {
            match &self.kind {
                Kind::Texts(layout) => {
                    for row in layout.rows(chunk)? {
                        // SAFETY: the row is within the array, which has the buffers of its layout.
                        rows.texts.push(unsafe { layout.row(chunk, row)? });
                    }
                }
                Kind::Messages(messages) => messages.rows(chunk, &mut rows)?,
            }
        }
        if let Kind::Messages(_) = self.kind {
            rows.lists.get_or_insert_default();
        }
        Ok(rows)
    }
}

impl Layout {
    pub fn of(schema: &Schema) -> PyResult<Self> {
        let format = schema.format();
        if !schema.dictionary.is_null() {
            return Err(wrong("dictionary"));
        }
        match format.as_str() {
            "u" | "z" => Ok(Self::Offsets32),
            "U" | "Z" => Ok(Self::Offsets64),
            "vu" | "vz" => Ok(Self::Views),
            "n" => Ok(Self::Nulls),
            _ => Err(wrong(&format)),
        }
    }

    /// Checks that an array has the buffers of this layout, and returns its rows, offset included.
    pub fn rows(self, chunk: &Array) -> PyResult<Range<usize>> {
        chunk.rows(match self {
            Self::Nulls => 0,
            Self::Views => 2,
            Self::Offsets32 | Self::Offsets64 => 3,
        })
    }

    /// # Safety
    /// `row` must be one of [`rows`](Self::rows) of the chunk.
    pub unsafe fn row(self, chunk: &Array, row: usize) -> PyResult<Option<&[u8]>> {
        // SAFETY (for the whole function): as the caller and the producer promise; see the top of the file.
        unsafe {
            if matches!(self, Self::Nulls) || !chunk.valid(row) {
                return Ok(None);
            }
            let (data, start, end) = match self {
                Self::Offsets32 | Self::Offsets64 => {
                    let (start, end) = chunk.ends(row, matches!(self, Self::Offsets64))?;
                    (2, start, end)
                }
                Self::Views | Self::Nulls => {
                    // A view: the length; then the bytes if there are at most 12, otherwise the first 4, a buffer index and an offset.
                    let view = chunk.filled::<u8>(1)?.add(row * 16);
                    let word = |at: usize| i64::from(view.add(at).cast::<i32>().read_unaligned());
                    let length = usize::try_from(word(0)).map_err(|_| broken())?;
                    if length <= 12 {
                        return Ok(Some(std::slice::from_raw_parts(view.add(4), length)));
                    }
                    // The last buffer holds the lengths of the others.
                    if !(0..chunk.n_buffers - 3).contains(&word(8)) {
                        return Err(broken());
                    }
                    (word(8) + 2, word(12), word(12) + word(0))
                }
            };
            let (Ok(start), Ok(end), Ok(data)) = (
                usize::try_from(start),
                usize::try_from(end),
                usize::try_from(data),
            ) else {
                return Err(broken());
            };
            match end.checked_sub(start) {
                None => Err(broken()),
                Some(0) => Ok(Some(&[])),
                Some(length) => Ok(Some(std::slice::from_raw_parts(
                    chunk.filled::<u8>(data)?.add(start),
                    length,
                ))),
            }
        }
    }
}

impl Schema {
    pub fn format(&self) -> String {
        // SAFETY: the format is a C string that lives as long as the schema.
        unsafe { text(self.format) }
    }

    pub fn name(&self) -> String {
        // SAFETY: the name is null, or as above.
        unsafe { text(self.name) }
    }
}

impl Array {
    /// Checks that it has so many buffers, and returns its rows, offset included.
    pub fn rows(&self, buffers: i64) -> PyResult<Range<usize>> {
        let (Ok(length), Ok(offset)) = (usize::try_from(self.length), usize::try_from(self.offset))
        else {
            return Err(broken());
        };
        if self.n_buffers < buffers || (buffers > 0 && self.buffers.is_null()) {
            return Err(broken());
        }
        Ok(offset..offset + length)
    }

    /// # Safety
    /// The array must have a buffer, and `row` must be one of its rows, offset included.
    pub unsafe fn valid(&self, row: usize) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let valid = self.buffer::<u8>(0);
            valid.is_null() || *valid.add(row / 8) >> (row % 8) & 1 == 1
        }
    }

    /// Where a row begins and ends in the array's data or items.
    ///
    /// # Safety
    /// The array must have two buffers, the second of which has offsets, of 64 bits if they are `wide`; `row` as for `valid`.
    pub unsafe fn ends(&self, row: usize, wide: bool) -> PyResult<(i64, i64)> {
        // SAFETY: as the caller promises.
        unsafe {
            if wide {
                let offsets = self.filled::<i64>(1)?;
                let (start, end) = (offsets.add(row), offsets.add(row + 1));
                return Ok((start.read_unaligned(), end.read_unaligned()));
            }
            let offsets = self.filled::<i32>(1)?;
            let (start, end) = (offsets.add(row), offsets.add(row + 1));
            Ok((start.read_unaligned().into(), end.read_unaligned().into()))
        }
    }

    /// # Safety
    /// The array must have more than `index` buffers.
    unsafe fn buffer<T>(&self, index: usize) -> *const T {
        // SAFETY: as the caller promises.
        unsafe { (*self.buffers.add(index)).cast() }
    }

    /// # Safety
    /// As for `buffer`.
    unsafe fn filled<T>(&self, index: usize) -> PyResult<*const T> {
        // SAFETY: as the caller promises.
        let buffer = unsafe { self.buffer::<T>(index) };
        if buffer.is_null() {
            Err(broken())
        } else {
            Ok(buffer)
        }
    }
}

impl Stream {
    /// Reads the schema and all arrays.
    fn read(&mut self) -> PyResult<(Schema, Vec<Array>)> {
        let (Some(get_schema), Some(get_next), true) =
            (self.get_schema, self.get_next, self.release.is_some())
        else {
            return Err(PyValueError::new_err("column: already consumed"));
        };
        let mut schema = Schema::released();
        // SAFETY: the stream is ours and not released; both functions write the structure or return an error.
        let code = unsafe { get_schema(self, &mut schema) };
        self.check(code)?;
        let mut chunks = vec![];
        loop {
            let mut chunk = Array::released();
            // SAFETY: as above.
            let code = unsafe { get_next(self, &mut chunk) };
            self.check(code)?;
            if chunk.release.is_none() {
                return Ok((schema, chunks));
            }
            chunks.push(chunk);
        }
    }

    fn check(&mut self, code: c_int) -> PyResult<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the message is null, or a C string that is valid until the next call.
        let why = match self.get_last_error {
            Some(say) => unsafe { text(say(self)) },
            None => String::new(),
        };
        Err(PyOSError::new_err(format!(
            "column: its stream broke off with code {code} {why}"
        )))
    }
}

/// # Safety
/// `from` must be null or a C string.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(from) }
        .to_string_lossy()
        .into_owned()
}

fn inside<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

pub fn wrong(format: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "column: text or bytes are needed (utf8, large_utf8, utf8_view, binary, large_binary, binary_view), or lists of messages, not the Arrow format {format:?}"
    ))
}

pub fn broken() -> PyErr {
    PyValueError::new_err("column: not a valid Arrow array")
}

/// What an exported schema owns.
struct SchemaParts {
    _texts: [CString; 2],
    _metadata: Option<Vec<u8>>,
    children: Vec<*mut Schema>,
}

/// What an exported array owns.
struct ArrayParts {
    _column: Arc<Column>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
}

/// # Safety
/// As the interface demands: called once, with a structure that `schema_of` made.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: `private_data` and the children are boxes made in `schema_of`; a moved child is marked as such.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        (*schema).release = None;
        parts
            .children
            .iter()
            .for_each(|child| drop(Box::from_raw(*child)));
    }
}

/// # Safety
/// As the interface demands: called once, with a structure that `array_of` made.
unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        (*array).release = None;
        parts
            .children
            .iter()
            .for_each(|child| drop(Box::from_raw(*child)));
    }
}

fn schema_of(column: &Column, metadata: Option<Vec<u8>>) -> Schema {
    let c_text = |text: &str| CString::new(text).expect("names and formats hold no NUL");
    let children = column.children.iter();
    let mut parts = Box::new(SchemaParts {
        _texts: [c_text(column.format), c_text(column.name)],
        _metadata: metadata,
        children: children
            .map(|child| Box::into_raw(Box::new(schema_of(child, None))))
            .collect(),
    });
    Schema {
        format: parts._texts[0].as_ptr(),
        name: parts._texts[1].as_ptr(),
        metadata: parts
            ._metadata
            .as_ref()
            .map_or(null(), |data| data.as_ptr().cast()),
        flags: NULLABLE,
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// `valid` says whether to export this column's own null mask.
fn array_of(column: &Arc<Column>, valid: bool) -> Array {
    let mask = column.valid.as_ref().filter(|_| valid);
    let mut buffers = vec![mask.map_or(null(), |mask| mask.as_ptr().cast())];
    buffers.extend(column.buffers.iter().map(|buffer| buffer.pointer()));
    let children = column.children.iter();
    let mut parts = Box::new(ArrayParts {
        _column: Arc::clone(column),
        buffers,
        children: children
            .map(|child| Box::into_raw(Box::new(array_of(child, true))))
            .collect(),
    });
    Array {
        length: column.length as i64,
        null_count: if mask.is_some() {
            column.nulls as i64
        } else {
            0
        },
        offset: 0,
        n_buffers: parts.buffers.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.buffers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

/// What an exported stream owns. The column is delivered once.
struct StreamParts {
    column: Arc<Column>,
    metadata: Vec<u8>,
    given: bool,
}

/// # Safety
/// As the interface demands: `stream` was made by the function `stream` and is not released; `out` is writable.
unsafe extern "C" fn stream_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: as the caller promises; `out` is overwritten without being read.
    unsafe {
        let parts = &*(*stream).private_data.cast::<StreamParts>();
        out.write(schema_of(&parts.column, Some(parts.metadata.clone())));
    }
    0
}

/// # Safety
/// As for `stream_schema`.
unsafe extern "C" fn stream_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as above.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        let next = if parts.given {
            Array::released()
        } else {
            // A batch of fields has no nulls of its own.
            array_of(&parts.column, parts.column.format != "+s")
        };
        parts.given = true;
        out.write(next);
    }
    0
}

/// # Safety
/// As for `stream_schema`.
unsafe extern "C" fn stream_error(_stream: *mut Stream) -> *const c_char {
    null()
}

/// # Safety
/// As for `stream_schema`, called once.
unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: `private_data` is the box made in `stream`.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
        (*stream).release = None;
    }
}

/// A capsule with the type of a column.
pub fn schema<'py>(
    py: Python<'py>,
    column: &Column,
    metadata: Vec<u8>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, schema_of(column, Some(metadata)), SCHEMA)
}

/// A capsule with a column.
pub fn array<'py>(py: Python<'py>, column: &Arc<Column>) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, array_of(column, true), ARRAY)
}

/// A capsule with a stream of one array: of a struct, a record batch of its fields. (A batch cannot be null itself; its fields can.)
pub fn stream<'py>(
    py: Python<'py>,
    column: &Arc<Column>,
    metadata: Vec<u8>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let parts = StreamParts {
        column: Arc::clone(column),
        metadata,
        given: false,
    };
    let stream = Stream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(parts)).cast(),
    };
    PyCapsule::new_with_value(py, stream, STREAM)
}
