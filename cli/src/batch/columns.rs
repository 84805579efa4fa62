//! Parquet files: rows in as the JSON of their columns, and out with the same columns and what was read.
//!
//! Rows are read in portions and row groups are written as they fill, so that memory does not grow with the length of the file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::writer::LineDelimited;
use arrow_json::{ReaderBuilder, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::{Serialize, Serializer};
use toolglot::{Call, Report, Turn};

use super::lines::{Line, Text};
use super::record::{Answers, Defaults, ReadRecord};
use super::rows::Source;
use super::{Totals, create, pipeline, progress};
use crate::args::RecordArgs;
use crate::stop::Stop;
use crate::values::threads;

/// Rows of a portion.
const ROWS: usize = 256;
/// A row group is written when it holds this many bytes.
const GROUP: usize = 64 << 20;

/// A portion of rows, in both forms.
type Portion = (RecordBatch, Vec<Line>);

/// The rows of a file.
pub struct Rows {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    /// Columns that are needed as JSON; without them all.
    needed: Option<Vec<usize>>,
    /// Number of the last row, from 1.
    number: u64,
}

impl Rows {
    pub fn open(path: &Path) -> Result<Self, Stop> {
        let fail = |why: &dyn std::fmt::Display| {
            Stop::because(format!("cannot read {}: {why}", path.display()))
        };
        let file = File::open(path).map_err(|error| fail(&error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| fail(&e))?;
        let schema = builder.schema().clone();
        let reader = builder.with_batch_size(ROWS).build();
        Ok(Self {
            path: path.to_owned(),
            reader: reader.map_err(|error| fail(&error))?,
            schema,
            needed: None,
            number: 0,
        })
    }

    /// Makes JSON only of columns that a record without other members has too.
    fn only_needed(&mut self, defaults: &Defaults) {
        if !defaults.deny_unknown {
            let columns = self.schema.fields().iter().enumerate();
            let needed = columns.filter(|(_, column)| defaults.needs(column.name()));
            self.needed = Some(needed.map(|(at, _)| at).collect());
        }
    }

    /// Returns the next portion with its size in memory.
    pub fn next(&mut self) -> Result<Option<(u64, Portion)>, Stop> {
        let Some(batch) = self.reader.next() else {
            return Ok(None);
        };
        let read = batch.and_then(|batch| Ok((self.lines(&batch)?, batch)));
        let (lines, batch) = read.map_err(|error| {
            Stop::because(format!("cannot read {}: {error}", self.path.display()))
        })?;
        let bytes = lines.iter().map(|line| line.bytes).sum();
        Ok(Some((bytes, (batch, lines))))
    }

    fn lines(&mut self, batch: &RecordBatch) -> Result<Vec<Line>, ArrowError> {
        let needed = match &self.needed {
            Some(columns) => &batch.project(columns)?,
            None => batch,
        };
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, LineDelimited>(vec![]);
        writer.write(needed)?;
        writer.finish()?;
        let json = writer.into_inner();
        let mut lines = Vec::with_capacity(batch.num_rows());
        for row in json.split(|byte| *byte == b'\n').take(batch.num_rows()) {
            self.number += 1;
            lines.push(Line {
                number: self.number,
                bytes: row.len() as u64,
                text: Text::Kept(row.to_vec()),
            });
        }
        Ok(lines)
    }
}

/// Reads the rows of a file and writes them with three more columns.
pub fn write(
    args: &RecordArgs,
    defaults: &Defaults,
    source: Source,
    path: &Path,
    totals: &mut Totals,
) -> Result<(), Stop> {
    let Source::Rows(mut rows) = source else {
        let why = "a Parquet file is written from a Parquet file, whose columns it keeps";
        return Err(Stop::because(format!("{}: {why}", path.display())));
    };
    let added = added();
    let mut fields = rows.schema.fields().to_vec();
    for column in &added {
        if rows.schema.column_with_name(column.name()).is_some() {
            let (file, name) = (rows.path.display(), column.name());
            return Err(Stop::because(format!(
                "{file} has a column `{name}` already"
            )));
        }
        fields.push(column.clone());
    }
    rows.only_needed(defaults);
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        rows.schema.metadata().clone(),
    ));
    let fail = |error: &dyn std::fmt::Display| {
        Stop::because(format!("cannot write {}: {error}", path.display()))
    };
    let settings = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let writer = ArrowWriter::try_new(create(path)?, schema.clone(), Some(settings.build()));
    let mut writer = writer.map_err(|error| fail(&error))?;
    let added = Arc::new(Schema::new(added));
    pipeline::run(
        (threads(args.jobs).get(), defaults),
        move || rows.next(),
        |answers, (batch, lines)| {
            let (columns, totals) = answer(answers, &lines, &added)?;
            let all = batch.columns().iter().chain(&columns).cloned().collect();
            Ok((RecordBatch::try_new(schema.clone(), all)?, totals))
        },
        |done: Result<_, ArrowError>| {
            let (batch, done) = done.map_err(|error| fail(&error))?;
            totals.add(&done);
            writer.write(&batch).map_err(|error| fail(&error))?;
            match writer.in_progress_size() > GROUP {
                true => writer.flush().map_err(|error| fail(&error)),
                false => Ok(()),
            }
        },
        &progress(None),
    )?;
    writer.close().map(drop).map_err(|error| fail(&error))
}

/// The columns of these rows.
fn answer(
    answers: &mut Answers<'_>,
    lines: &[Line],
    schema: &SchemaRef,
) -> Result<(Vec<ArrayRef>, Totals), ArrowError> {
    let mut totals = Totals::default();
    let read: Vec<_> = lines.iter().map(|line| answers.read(line)).collect();
    let mut rows = vec![];
    for row in &read {
        totals.lines += 1;
        totals.bad += u64::from(row.is_err());
        totals.errors |= row.as_ref().is_ok_and(ReadRecord::errors);
        rows.push(Row::of(row));
    }
    let mut decoder = ReaderBuilder::new(schema.clone())
        .with_batch_size(rows.len())
        .build_decoder()?;
    decoder.serialize(&rows)?;
    let columns = decoder.flush()?.map(|batch| batch.columns().to_vec());
    Ok((columns.unwrap_or_default(), totals))
}

/// The added columns: the turns of a row, problems in its tools, and why it cannot be read. Calls and errors have the types of the Python
/// package's `toolglot.arrow`.
fn added() -> Vec<FieldRef> {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let number = |name: &str| Field::new(name, DataType::Int64, true);
    let list = |name: &str, fields: Vec<Field>| Field::new_list(name, record(fields), true);
    let mut call = ["name", "arguments", "state", "id", "dialect"]
        .map(text)
        .to_vec();
    call.extend(["start", "end"].map(number));
    let mut error = ["kind", "severity", "message"].map(text).to_vec();
    error.extend(["start", "end"].map(number));
    let mut turn = ["at", "text", "reasoning"].map(text).to_vec();
    turn.extend([list("calls", call), list("errors", error)]);
    let issues = Field::new_list("tool_issues", text("item"), true);
    [list("turns", turn), issues, text("error")]
        .map(Arc::new)
        .to_vec()
}

fn record(fields: Vec<Field>) -> Field {
    Field::new("item", DataType::Struct(Fields::from(fields)), true)
}

#[derive(Serialize)]
struct Row<'a> {
    turns: Option<Vec<TurnRow<'a>>>,
    tool_issues: Option<&'a [String]>,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct TurnRow<'a> {
    at: &'a str,
    text: &'a str,
    reasoning: &'a str,
    calls: Vec<CallRow<'a>>,
    errors: Vec<ErrorRow<'a>>,
}

#[derive(Serialize)]
struct CallRow<'a> {
    name: &'a str,
    arguments: &'a str,
    state: &'a str,
    id: Option<&'a str>,
    dialect: &'a str,
    #[serde(serialize_with = "offset")]
    start: u64,
    #[serde(serialize_with = "offset")]
    end: u64,
}

#[derive(Serialize)]
struct ErrorRow<'a> {
    kind: &'a str,
    severity: &'a str,
    message: &'a str,
    #[serde(serialize_with = "offset")]
    start: u64,
    #[serde(serialize_with = "offset")]
    end: u64,
}

fn offset<S: Serializer>(at: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_i64(i64::try_from(*at).unwrap_or(i64::MAX))
}

impl<'a> Row<'a> {
    fn of(read: &'a Result<ReadRecord, String>) -> Self {
        let record = read.as_ref().ok();
        let turns = record.map(|record| {
            let turns = record.turns.iter();
            turns
                .map(|read| TurnRow::of(&read.at, &read.turn))
                .collect()
        });
        Self {
            turns,
            tool_issues: record.map(|record| &record.tool_issues[..]),
            error: read.as_ref().err().map(String::as_str),
        }
    }
}

impl<'a> TurnRow<'a> {
    fn of(at: &'a str, turn: &'a Turn) -> Self {
        Self {
            at,
            text: &turn.text,
            reasoning: &turn.reasoning,
            calls: turn.calls.iter().map(CallRow::from).collect(),
            errors: turn.issues.iter().map(ErrorRow::from).collect(),
        }
    }
}

impl<'a> From<&'a Call> for CallRow<'a> {
    fn from(call: &'a Call) -> Self {
        Self {
            name: &call.name,
            arguments: &call.arguments,
            state: call.grade.name(),
            id: call.id(),
            dialect: &call.dialect,
            start: call.span.start,
            end: call.span.end,
        }
    }
}

impl<'a> From<&'a Report> for ErrorRow<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            kind: report.kind.name(),
            severity: report.severity.name(),
            message: &report.message,
            start: report.span.start,
            end: report.span.end,
        }
    }
}
