//! `toolglot result`: renders results of calls for a model.

use std::io::Write;

use crate::terminal::Screen;
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::outcome::{RenderOptions, Renderer, ToolResult};

use crate::args::ResultArgs;
use crate::input::Input;
use crate::prompt;
use crate::stop::{Stop, Verdict};

/// Prints results in a dialect's layout.
pub fn run(args: &ResultArgs) -> Result<Verdict, Stop> {
    let (own, layout) = prompt::layout(&args.dialect, args.chat_template.as_deref())?;
    // No other set of the application may see a marker either.
    let beside = Choice {
        files: true,
        ..Choice::of(&[args.dialect.dialect.as_str(), "default"])
    };
    let sets = Sets::load(&args.dialect.files).map_err(Stop::because)?;
    let active = sets.get(&beside).unwrap_or(own);
    let renderer = Renderer::new(&active, layout).map_err(Stop::because)?;
    let mut input = Input::open(&args.file)?;
    let text = input.text()?;
    let wrong = |why: String| input.wrong(format!("the results cannot be read: {why}"));
    let list = text.trim_start().starts_with('[');
    let results: Vec<ToolResult> = if list {
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?
    } else {
        vec![serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?]
    };
    let mut options = RenderOptions::new(args.lang);
    options.condense.select.clone_from(&args.select);
    if let Some(bytes) = args.max_bytes {
        options.condense.tail = bytes / 4;
        options.condense.head = bytes - bytes / 4;
    }
    let text = renderer.render(&results, &options).map_err(Stop::because)?;
    writeln!(Screen::stdout(), "{text}").map_err(Stop::output)?;
    Ok(Verdict::Clean)
}
