//! Reading files and standard input, with errors that name the file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::stop::Stop;
use crate::values::is_stdin;

/// An input that is read incrementally.
pub struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    /// Its length if it is a regular file.
    pub len: Option<u64>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self, Stop> {
        if is_stdin(path) {
            return Ok(Self {
                name: "standard input".to_owned(),
                reader: Box::new(io::stdin()),
                len: None,
            });
        }
        let name = path.display().to_string();
        let fail = |error: io::Error| Stop::because(format!("cannot read {name}: {error}"));
        let file = File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        if meta.is_dir() {
            return Err(Stop::because(format!(
                "cannot read {name}: it is a directory"
            )));
        }
        let len = meta.is_file().then_some(meta.len());
        Ok(Self {
            name,
            reader: Box::new(file),
            len,
        })
    }

    /// Its name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An error in the text of the input, with its name.
    pub fn wrong(&self, why: impl std::fmt::Display) -> Stop {
        Stop::because(format!("{}: {why}", self.name))
    }

    /// Adds the name of the input to an error.
    pub fn error(&self, error: &io::Error) -> Stop {
        Stop::because(format!("cannot read {}: {error}", self.name))
    }

    /// Reads it all as text, without the mark that Windows writes at the beginning of UTF-8.
    pub fn text(&mut self) -> Result<String, Stop> {
        let mut text = String::new();
        let read = self.reader.read_to_string(&mut text);
        read.map_err(|error| self.error(&error))?;
        Ok(without_mark(text))
    }

    /// Fills `buffer` with up to `len` bytes, fewer only at the end.
    pub fn exactly(&mut self, len: usize, buffer: &mut Vec<u8>) -> Result<(), Stop> {
        buffer.clear();
        let read = (&mut self.reader).take(len as u64).read_to_end(buffer);
        read.map(drop).map_err(|e| self.error(&e))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

/// Refuses an output that is the input too, under whatever name: opening it would empty the input.
pub fn not_the_same(input: &Path, output: &Path) -> Result<(), Stop> {
    if !same(input, output) {
        return Ok(());
    }
    let what = match is_stdin(input) {
        true => format!("standard input is {}, which is", output.display()),
        false => format!("{} is", input.display()),
    };
    Err(Stop::because(format!("{what} both input and output")))
}

/// Refuses an input to which standard output is appended: it would be read without end.
pub fn not_stdout(input: &Path) -> Result<(), Stop> {
    if !is_stdout(input) {
        return Ok(());
    }
    let what = match is_stdin(input) {
        true => "standard input".to_owned(),
        false => input.display().to_string(),
    };
    let why = format!("{what} is both input and standard output");
    Err(Stop::because(why))
}

/// Whether two paths name one file with content. Links have the number of their file.
#[cfg(unix)]
fn same(input: &Path, output: &Path) -> bool {
    let output = fs::metadata(output);
    matches!((metadata(input), output), (Ok(input), Ok(output)) if is_one(&input, &output))
}

/// Whether an input is the file with content to which standard output goes.
#[cfg(unix)]
fn is_stdout(input: &Path) -> bool {
    let output = opened(io::stdout());
    matches!((metadata(input), output), (Ok(input), Ok(output)) if is_one(&input, &output))
}

#[cfg(unix)]
fn is_one(input: &fs::Metadata, output: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    let number = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    input.is_file() && number(input) == number(output)
}

#[cfg(unix)]
fn metadata(input: &Path) -> io::Result<fs::Metadata> {
    match is_stdin(input) {
        true => opened(io::stdin()),
        false => fs::metadata(input),
    }
}

/// What an open file is.
#[cfg(unix)]
fn opened(file: impl std::os::fd::AsFd) -> io::Result<fs::Metadata> {
    let own = file.as_fd().try_clone_to_owned();
    own.and_then(|own| File::from(own).metadata())
}

/// Not recognized.
#[cfg(not(unix))]
fn is_stdout(_: &Path) -> bool {
    false
}

/// Whether two paths name one file. Links and standard input are not recognized.
#[cfg(not(unix))]
fn same(input: &Path, output: &Path) -> bool {
    let path = |path: &Path| fs::canonicalize(path).ok();
    !is_stdin(input) && path(input).is_some_and(|input| path(output) == Some(input))
}

/// Reads a whole file of arbitrary bytes.
pub fn whole(path: &Path) -> Result<Vec<u8>, Stop> {
    let name = path.display();
    fs::read(path).map_err(|e| Stop::because(format!("cannot read {name}: {e}")))
}

/// Reads a file of text.
pub fn text(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    let bytes = fs::read(path).map_err(|e| Stop::because(format!("cannot read {name}: {e}")))?;
    String::from_utf8(bytes)
        .map(without_mark)
        .map_err(|e| Stop::because(format!("{name}: it is not UTF-8 text: {e}")))
}

/// The text without the mark that Windows writes at the beginning of UTF-8.
fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}
