//! Where records come from: lines of a file, or rows of a Parquet file, each as the JSON of an object.

use std::io::{self, BufReader};
use std::path::Path;

use super::lines::{Line, Lines};
use crate::input::Input;
use crate::stop::Stop;

#[cfg(feature = "parquet")]
use super::columns::Rows;
#[cfg(feature = "parquet")]
pub use super::columns::write;

/// A portion is sent when it reaches this many bytes or lines, or when no more input is waiting.
const BYTES: u64 = 128 << 10;
const LINES: usize = 256;

/// Size of one read.
const BUFFER: usize = 2 * BYTES as usize;

pub enum Source {
    Lines(Lines<BufReader<Input>>),
    #[cfg(feature = "parquet")]
    Rows(Rows),
}

/// Whether a name is that of a Parquet file.
pub fn is_parquet(path: &Path) -> bool {
    has_ending(path, &["parquet"])
}

/// Whether a name is that of a file of records.
pub fn has_records(path: &Path) -> bool {
    has_ending(path, &["jsonl", "ndjson", "parquet"])
}

fn has_ending(path: &Path, known: &[&str]) -> bool {
    path.extension()
        .is_some_and(|ending| known.iter().any(|one| ending.eq_ignore_ascii_case(one)))
}

impl Source {
    /// Opens a file; lines may have up to `max_line` bytes.
    pub fn open(path: &Path, max_line: u64) -> Result<Self, Stop> {
        if is_parquet(path) {
            return Self::rows(path);
        }
        let input = Input::open(path)?;
        let reader = BufReader::with_capacity(BUFFER, input);
        Ok(Self::Lines(Lines::new(reader, max_line)))
    }

    #[cfg(feature = "parquet")]
    fn rows(path: &Path) -> Result<Self, Stop> {
        Rows::open(path).map(Self::Rows)
    }

    #[cfg(not(feature = "parquet"))]
    fn rows(path: &Path) -> Result<Self, Stop> {
        Err(without(path))
    }

    /// The length of the input in bytes, if it is known.
    pub fn len(&self) -> Option<u64> {
        match self {
            Self::Lines(lines) => lines.input().len,
            #[cfg(feature = "parquet")]
            Self::Rows(_) => None,
        }
    }

    /// Returns the next lines with their length; fewer if more are not available yet; none at the end.
    pub fn lines(&mut self) -> Result<Option<(u64, Vec<Line>)>, Stop> {
        match self {
            Self::Lines(lines) => {
                let read = read(lines).map_err(|error| lines.input().error(&error))?;
                Ok(Some(read).filter(|(_, lines)| !lines.is_empty()))
            }
            #[cfg(feature = "parquet")]
            Self::Rows(rows) => Ok(rows.next()?.map(|(bytes, (_, lines))| (bytes, lines))),
        }
    }
}

fn read(lines: &mut Lines<BufReader<Input>>) -> io::Result<(u64, Vec<Line>)> {
    let (mut bytes, mut list) = (0, vec![]);
    while let Some(line) = lines.next_line()? {
        bytes += line.bytes;
        list.push(line);
        if bytes >= BYTES || list.len() >= LINES || lines.is_waiting() {
            break;
        }
    }
    Ok((bytes, list))
}

#[cfg(not(feature = "parquet"))]
pub fn write(
    _: &crate::args::RecordArgs,
    _: &super::record::Defaults,
    _: Source,
    path: &Path,
    _: &mut super::Totals,
) -> Result<(), Stop> {
    Err(without(path))
}

#[cfg(not(feature = "parquet"))]
fn without(path: &Path) -> Stop {
    Stop::because(format!(
        "{}: this command was built without Parquet (the feature `parquet`)",
        path.display()
    ))
}
