//! Columns in the memory layout of Arrow, and how they are filled.

use std::ffi::c_void;
use std::sync::Arc;

use crate::guard::Failure;

/// A finished column.
#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    /// Its type, as the C data interface spells it.
    pub format: &'static str,
    pub length: usize,
    pub nulls: usize,
    /// One bit per row, 0 for null; `None` without nulls.
    pub valid: Option<Vec<u8>>,
    pub buffers: Vec<Buffer>,
    pub children: Vec<Arc<Column>>,
}

/// A buffer, aligned for what it holds.
#[derive(Debug)]
pub enum Buffer {
    Bytes(Vec<u8>),
    Offsets(Vec<i32>),
    Numbers(Vec<i64>),
}

impl Buffer {
    pub fn pointer(&self) -> *const c_void {
        match self {
            Self::Bytes(bytes) => bytes.as_ptr().cast(),
            Self::Offsets(offsets) => offsets.as_ptr().cast(),
            Self::Numbers(numbers) => numbers.as_ptr().cast(),
        }
    }
}

/// Which rows are null.
#[derive(Default)]
pub struct Mask {
    bits: Vec<u8>,
    length: usize,
    nulls: usize,
}

impl Mask {
    pub fn push(&mut self, valid: bool) {
        if self.length.is_multiple_of(8) {
            self.bits.push(0);
        }
        if let (Some(last), true) = (self.bits.last_mut(), valid) {
            *last |= 1 << (self.length % 8);
        }
        self.length += 1;
        self.nulls += usize::from(!valid);
    }

    pub fn column(
        self,
        name: &'static str,
        format: &'static str,
        buffers: Vec<Buffer>,
        children: Vec<Column>,
    ) -> Column {
        Column {
            name,
            format,
            length: self.length,
            nulls: self.nulls,
            valid: (self.nulls > 0).then_some(self.bits),
            buffers,
            children: children.into_iter().map(Arc::new).collect(),
        }
    }
}

/// End offsets of the rows in a buffer or a list.
struct Ends(Vec<i32>);

impl Ends {
    fn push(&mut self, end: usize) -> Result<(), Failure> {
        let end = i32::try_from(end).map_err(|_| {
            Failure::limit(
                "a column of the result is longer than 2 GiB; parse fewer rows at a time",
            )
        })?;
        self.0.push(end);
        Ok(())
    }
}

/// A column of text.
pub struct TextColumn {
    mask: Mask,
    ends: Ends,
    bytes: Vec<u8>,
}

impl Default for TextColumn {
    fn default() -> Self {
        Self {
            mask: Mask::default(),
            ends: Ends(vec![0]),
            bytes: vec![],
        }
    }
}

impl TextColumn {
    pub fn push(&mut self, text: Option<&str>) -> Result<(), Failure> {
        self.bytes.extend_from_slice(text.unwrap_or("").as_bytes());
        self.mask.push(text.is_some());
        self.ends.push(self.bytes.len())
    }

    pub fn column(self, name: &'static str) -> Column {
        self.mask.column(
            name,
            "u",
            vec![Buffer::Offsets(self.ends.0), Buffer::Bytes(self.bytes)],
            vec![],
        )
    }
}

/// A column of offsets in a row's text.
#[derive(Default)]
pub struct NumberColumn {
    mask: Mask,
    numbers: Vec<i64>,
}

impl NumberColumn {
    pub fn push(&mut self, number: u64) {
        self.numbers.push(i64::try_from(number).unwrap_or(i64::MAX));
        self.mask.push(true);
    }

    pub fn column(self, name: &'static str) -> Column {
        self.mask
            .column(name, "l", vec![Buffer::Numbers(self.numbers)], vec![])
    }
}

/// A column of lists, whose items are elsewhere.
pub struct ListColumn {
    mask: Mask,
    ends: Ends,
}

impl Default for ListColumn {
    fn default() -> Self {
        Self {
            mask: Mask::default(),
            ends: Ends(vec![0]),
        }
    }
}

impl ListColumn {
    /// Adds a row; `end` is the number of items including its own.
    pub fn push(&mut self, valid: bool, end: usize) -> Result<(), Failure> {
        self.mask.push(valid);
        self.ends.push(end)
    }

    pub fn column(self, name: &'static str, items: Column) -> Column {
        self.mask
            .column(name, "+l", vec![Buffer::Offsets(self.ends.0)], vec![items])
    }
}
