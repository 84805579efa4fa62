//! `toolglot prompt`: renders tools for a model.

use std::io::{self, Write};
use std::path::Path;

use crate::terminal::Screen;
use toolglot::DialectSet;
use toolglot_testkit::sets::{Choice, Sets};
use toolglot_tools::Inventory;
use toolglot_tools::prompt::grammar::CallGrammar;
use toolglot_tools::prompt::{Layout, PromptOptions, Stops, TemplateOptions, tokens};

use crate::args::{PromptArgs, PromptPart};
use crate::stop::{Stop, Verdict};

/// Prints a prompt, or a part of it.
pub fn run(args: &PromptArgs) -> Result<Verdict, Stop> {
    let (set, layout) = layout(&args.dialect, args.chat_template.as_deref())?;
    let tools = match &args.tools {
        Some(path) => crate::tools::callable(path)?,
        None => vec![],
    };
    let tools = Inventory::of(tools).map_err(Stop::because)?;
    let mut options = PromptOptions::default();
    options.lang = args.lang;
    options.examples = !args.no_examples;
    let grammar = || CallGrammar::new(&layout, &tools).map_err(Stop::because);
    let text = match args.part {
        PromptPart::System => layout.system(&tools, &options).map_err(Stop::because)?,
        PromptPart::Tools => layout.tools(&tools, &options).map_err(Stop::because)?,
        PromptPart::Usage => layout.usage(&tools, &options).map_err(Stop::because)?,
        PromptPart::Stop => stops(&set, &layout),
        PromptPart::Gbnf => grammar()?.gbnf(),
        PromptPart::Lark => grammar()?.lark(),
        PromptPart::StructuralTag => grammar()?.structural_tag().to_string(),
    };
    let mut out = Screen::stdout();
    writeln!(out, "{}", text.trim_end_matches('\n')).map_err(Stop::output)?;
    if args.tokens {
        let _ = writeln!(io::stderr(), "about {} tokens", tokens(&text));
    }
    Ok(Verdict::Clean)
}

/// Prints stop sequences as JSON, one per line: `turn` and `block`.
fn stops(set: &DialectSet, layout: &Layout) -> String {
    let stops = Stops::of(set, layout.dialect()).unwrap_or_default();
    toolglot::json::json!({"turn": stops.turn, "block": stops.block}).to_string()
}

/// The dialect that the arguments name, alone in its set, and its layout, or that of the model's own chat template.
pub fn layout(
    args: &crate::values::OneDialect,
    template: Option<&Path>,
) -> Result<(DialectSet, Layout), Stop> {
    let id = args.dialect.as_str();
    if ["all", "any", "default"].contains(&id) {
        return Err(Stop::because(format!("`{id}` is not a dialect; name one")));
    }
    let sets = Sets::load(&args.files).map_err(Stop::because)?;
    let choice = Choice {
        switches: args.switches.clone(),
        ..Choice::of(&[id])
    };
    let set = sets.get(&choice).map_err(Stop::because)?;
    let own = set.ids().next().unwrap_or(id).to_owned();
    let layout = match template {
        None => Layout::new(&set, &own).map_err(Stop::because)?,
        Some(path) => {
            let text = crate::input::text(path)?;
            let layout = Layout::from_template(&set, &own, &text, &TemplateOptions::default());
            layout.map_err(|error| Stop::because(format!("{}: {error}", path.display())))?
        }
    };
    Ok((set, layout))
}
