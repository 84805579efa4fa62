//! `parse --record`: records a stream as it passes through.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use toolglot::json::{Map, Value};
use toolglot_testkit::recording::{Dialect, Recording, entries};
use toolglot_testkit::vectors::Log;

use crate::args::ParseArgs;
use crate::input;
use crate::stop::Stop;

/// A stream that is written to a file when it ends.
pub struct Record<'a> {
    args: &'a ParseArgs,
    tools: Option<Value>,
    path: &'a Path,
    file: File,
    input: Vec<u8>,
    cuts: Vec<usize>,
}

impl<'a> Record<'a> {
    /// `None` without `--record`. The file is opened at once, so that a bad path fails before the stream begins; its old
    /// content stays until there is something to write. The tools are the list that the parser gets, whatever form they had.
    pub fn new(args: &'a ParseArgs, tools: Option<Value>) -> Result<Option<Self>, Stop> {
        let Some(path) = args.record.as_deref() else {
            return Ok(None);
        };
        let beside = args.tools.iter().chain(&args.prompt_tail);
        let beside = beside.chain(&args.set.files);
        for input in beside.chain([&args.file]) {
            input::not_the_same(input, path)?;
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        Ok(Some(Self {
            args,
            tools,
            path,
            file: file.map_err(|e| cannot(path, &e))?,
            input: vec![],
            cuts: vec![],
        }))
    }

    /// Records the next chunk of the stream.
    pub fn chunk(&mut self, chunk: &[u8]) {
        self.input.extend_from_slice(chunk);
        self.cuts.push(chunk.len());
    }

    /// Writes the file.
    pub fn write(mut self, log: &Log) -> Result<(), Stop> {
        let recording = Recording {
            dialects: self.dialects()?,
            options: self.options()?,
            tools: self.tools.take(),
            finish: self.args.finish.unwrap_or_default().to_string(),
            expect: Some(entries(log)),
            input: std::mem::take(&mut self.input),
            cuts: Some(std::mem::take(&mut self.cuts)),
            ..Recording::default()
        };
        let text = recording.text();
        let mut write = || {
            // A pipe or a device has no old content.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.file.write_all(text.as_bytes())
        };
        write().map_err(|e| cannot(self.path, &e))
    }

    /// The files with their text, then the names that are not files.
    fn dialects(&self) -> Result<Vec<Dialect>, Stop> {
        let set = &self.args.set;
        let sets = set.sets().map_err(Stop::because)?;
        let mut out = vec![];
        for path in &set.files {
            let toml = input::text(path)?;
            out.push(Dialect::File {
                file: path.display().to_string(),
                toml,
            });
        }
        let is_file = |name: &String| sets.file_ids().any(|id| id == name);
        let names = set.dialects.iter().filter(|name| !is_file(name));
        out.extend(names.cloned().map(Dialect::Name));
        if set.dialects.is_empty() {
            out.push(Dialect::Name("default".to_owned()));
        }
        Ok(out)
    }

    fn options(&self) -> Result<Map, Stop> {
        let mut options = Map::new();
        options.insert("text".to_owned(), "chars".into());
        let switches = self.args.set.choice().switches;
        if !switches.is_empty() {
            let names = switches
                .iter()
                .map(|(dialect, name)| format!("{dialect}.{name}"));
            options.insert("switches".to_owned(), names.collect());
        }
        if let Some(path) = &self.args.prompt_tail {
            let mut read = toolglot::Options::default();
            read.set_prompt_tail(&input::whole(path)?);
            let tail = read.prompt_tail.unwrap_or_default();
            options.insert("prompt_tail".to_owned(), (*tail).into());
        }
        if let Some(way) = self.args.unknown_tool {
            options.insert("unknown_tool".to_owned(), way.name().into());
        }
        if let Some(choice) = &self.args.tool_choice {
            options.insert("tool_choice".to_owned(), choice.to_value());
        }
        if let Some(untyped) = self.args.untyped {
            options.insert("untyped".to_owned(), untyped.name().into());
        }
        if let Some(start) = self.args.start {
            options.insert("start".to_owned(), start.name().into());
        }
        Ok(options)
    }
}

fn cannot(path: &Path, error: &io::Error) -> Stop {
    Stop::because(format!("cannot write {}: {error}", path.display()))
}
