//! `toolglot encode` and `toolglot transcode`: calls into text.

use std::io::{self, Write};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolglot::{DialectSet, EncodeCall, EncodeOptions, Encoder, Transcoder};
use toolglot_cli::sets::{Choice, Sets};

use crate::args::{EncodeArgs, TranscodeArgs};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};

/// Writes calls that are given as JSON.
pub fn encode(args: &EncodeArgs) -> Result<Verdict, Stop> {
    let sets = Sets::load(&args.files).map_err(Stop::because)?;
    let encoder = encoder(&sets, &args.dialect, args.switches.clone())?;
    let options = options(args.tools.as_deref())?;
    let calls = calls(&bytes(&args.file)?)?;
    let text = encoder.encode(&calls, &options).map_err(Stop::because)?;
    print(text.as_bytes())
}

/// Writes the calls of a model output in another dialect.
pub fn transcode(args: &TranscodeArgs) -> Result<Verdict, Stop> {
    let sets = Sets::load(&args.files).map_err(Stop::because)?;
    let encoder = encoder(&sets, &args.to, vec![])?;
    let choice = Choice {
        names: args.from.clone(),
        files: true,
        switches: vec![],
    };
    let from: DialectSet = sets.get(&choice).map_err(Stop::because)?;
    let mut transcoder = Transcoder::new(&from, encoder, options(args.tools.as_deref())?);
    transcoder.keep = args.keep;
    let output = transcoder.run(&bytes(&args.file)?);
    print(&output.map_err(Stop::because)?)
}

/// Writes one dialect, by its id or an alias.
fn encoder(sets: &Sets, id: &str, switches: Vec<(String, String)>) -> Result<Encoder, Stop> {
    if ["all", "default"].contains(&id) {
        return Err(Stop::because(format!(
            "`{id}` is no dialect; name one to write"
        )));
    }
    let choice = Choice {
        switches,
        ..Choice::of(&[id])
    };
    let set = sets.get(&choice).map_err(Stop::because)?;
    let own = set.dialects().next().map_or(id, |dialect| dialect.id());
    Encoder::new(&set, own).map_err(|error| Stop::because(error.reason))
}

fn options(tools: Option<&Path>) -> Result<EncodeOptions, Stop> {
    let mut options = EncodeOptions::default();
    options.tools = input::tools(tools)?;
    Ok(options)
}

fn bytes(file: &Path) -> Result<Vec<u8>, Stop> {
    let mut all = vec![];
    Input::open(file)?.exactly(usize::MAX, &mut all)?;
    Ok(all)
}

fn print(bytes: &[u8]) -> Result<Verdict, Stop> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).map_err(Stop::output)?;
    out.flush().map_err(Stop::output)?;
    Ok(Verdict::Clean)
}

/// One call, in our form or in OpenAI's.
#[derive(Deserialize)]
struct Given<'j> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'j RawValue>,
    #[serde(borrow)]
    function: Option<Function<'j>>,
}

#[derive(Deserialize)]
struct Function<'j> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'j RawValue>,
}

/// A turn, ours or OpenAI's.
#[derive(Deserialize)]
struct Turn<'j> {
    #[serde(borrow, alias = "tool_calls")]
    calls: Vec<Given<'j>>,
}

/// The calls that a JSON text says.
fn calls(json: &[u8]) -> Result<Vec<EncodeCall>, Stop> {
    let wrong = |why: String| Stop::because(format!("the calls cannot be read: {why}"));
    let text = std::str::from_utf8(json).map_err(|error| wrong(error.to_string()))?;
    let list = text.trim_start().starts_with('[');
    let given: Vec<Given<'_>> = if list {
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?
    } else if let Ok(turn) = serde_json::from_str::<Turn<'_>>(text) {
        turn.calls
    } else {
        vec![serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?]
    };
    let call = |(index, given): (usize, Given<'_>)| {
        let (name, arguments) = match given.function {
            Some(function) => (Some(function.name), function.arguments),
            None => (given.name, given.arguments),
        };
        let arguments = match arguments.map(RawValue::get) {
            None | Some("null") => "{}".to_owned(),
            // JSON in a string.
            Some(text) if text.starts_with('"') => {
                serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?
            }
            Some(text) => text.to_owned(),
        };
        Ok(EncodeCall {
            name: name.ok_or_else(|| wrong(format!("call {index} has no `name`")))?,
            arguments,
            id: given.id,
        })
    };
    given.into_iter().enumerate().map(call).collect()
}
