//! `toolglot encode` and `toolglot transcode`: calls into text.

use std::io::Write;
use std::path::Path;

use toolglot::layer::recovered;
use toolglot::{DialectSet, EncodeCall, EncodeOptions, Encoder, Grade, Transcoder};
use toolglot_testkit::sets::{Choice, Sets};

use crate::args::{EncodeArgs, TranscodeArgs};
use crate::calls::{Given, Turn};
use crate::input::Input;
use crate::stop::{Stop, Verdict};
use crate::terminal::Screen;

/// Writes calls given as JSON.
pub fn encode(args: &EncodeArgs) -> Result<Verdict, Stop> {
    let sets = Sets::load(&args.files).map_err(Stop::because)?;
    let encoder = encoder(&sets, &args.dialect, args.switches.clone())?;
    let options = options(args.tools.as_deref())?;
    let calls = calls(&args.file)?;
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
    if ["all", "any", "default"].contains(&id) {
        return Err(Stop::because(format!(
            "`{id}` is not a dialect; name one to write"
        )));
    }
    let choice = Choice {
        switches,
        ..Choice::of(&[id])
    };
    let set = sets.get(&choice).map_err(Stop::because)?;
    let own = set.ids().next().unwrap_or(id);
    Encoder::new(&set, own).map_err(|error| Stop::because(error.reason))
}

fn options(tools: Option<&Path>) -> Result<EncodeOptions, Stop> {
    let mut options = EncodeOptions::default();
    options.tools = crate::tools::hints(tools)?;
    Ok(options)
}

fn bytes(file: &Path) -> Result<Vec<u8>, Stop> {
    let mut all = vec![];
    Input::open(file)?.exactly(usize::MAX, &mut all)?;
    Ok(all)
}

fn print(bytes: &[u8]) -> Result<Verdict, Stop> {
    let mut out = Screen::stdout();
    out.write_all(bytes).map_err(Stop::output)?;
    out.flush().map_err(Stop::output)?;
    Ok(Verdict::Clean)
}

/// The calls in a file.
fn calls(file: &Path) -> Result<Vec<EncodeCall>, Stop> {
    let mut bytes = vec![];
    let mut input = Input::open(file)?;
    input.exactly(usize::MAX, &mut bytes)?;
    let turn = Turn::read(&bytes);
    let turn = turn.map_err(|why| input.wrong(format!("the calls cannot be read: {why}")))?;
    let call = |(index, given): (usize, Given)| match given.grade {
        Grade::Recovered => {
            let why = recovered(&given.name, given.kinds);
            Err(input.wrong(format!("call {index}: {why}")))
        }
        Grade::Complete | Grade::Repaired => {
            Ok(EncodeCall::new(given.name, given.arguments).id(given.id))
        }
    };
    turn.calls.into_iter().enumerate().map(call).collect()
}
