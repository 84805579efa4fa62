//! `toolglot tools`: converts tool definitions from any form to one.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use toolglot::json::Value;
use toolglot::{Tools, ToolsError};
use toolglot_tools::read::{self, Listing, ReadError, Source};
use toolglot_tools::{Inventory, Tool};

use crate::args::{ToolsArgs, ToolsCommand};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};
use crate::terminal::one_line;

pub fn run(args: &ToolsArgs) -> Result<Verdict, Stop> {
    let ToolsCommand::Import {
        files,
        server,
        output,
    } = &args.command;
    if let Some(output) = output {
        for file in files {
            input::not_the_same(file, output)?;
        }
    }
    let mut faulty = false;
    let mut tools: Vec<Tool> = vec![];
    let mut places: HashMap<String, &Path> = HashMap::new();
    for file in files {
        let (found, odd) = definitions(file)?;
        faulty |= odd;
        for tool in found {
            if let Some(first) = places.insert(tool.id.clone(), file) {
                let (file, first) = (file.display(), first.display());
                let why = format!("{file}: the tool {} is already defined in {first}", tool.id);
                return Err(Stop::because(why));
            }
            tools.push(tool);
        }
    }
    if let Some(server) = server {
        tools = read::prefixed(server, tools);
    }
    let manifest = format!("{:#}\n", read::to_manifest(&tools));
    faulty |= faults(&Inventory::of(tools).map_err(Stop::because)?);
    match output {
        None => {
            let mut out = io::stdout().lock();
            out.write_all(manifest.as_bytes()).map_err(Stop::output)?;
            out.flush().map_err(Stop::output)?;
        }
        Some(path) => {
            let fail = |error| Stop::because(format!("cannot write {}: {error}", path.display()));
            fs::write(path, manifest).map_err(fail)?;
        }
    }
    Ok(Verdict::of(faulty, true))
}

/// Reports something on standard error. If it is closed, continues without.
pub fn note(what: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "toolglot: {}", one_line(&what.to_string()));
}

/// Reads a file of definitions, whatever their form. Malformed ones are reported and skipped; returns whether there were any.
/// A list without any valid definition is refused; an empty list is reported.
pub fn definitions(path: &Path) -> Result<(Vec<Tool>, bool), Stop> {
    let (name, text) = text(path)?;
    let list = listing(&name, &text)?;
    Ok((list.tools, !list.odd.is_empty()))
}

/// A file's text, and its name for messages.
fn text(path: &Path) -> Result<(String, String), Stop> {
    let mut bytes = vec![];
    let mut input = Input::open(path)?;
    input.exactly(usize::MAX, &mut bytes)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| input.wrong(format!("it is not UTF-8 text: {error}")))?;
    Ok((input.name().to_owned(), text))
}

fn listing(name: &str, text: &str) -> Result<Listing, Stop> {
    let list = read::listing(name, text).map_err(Stop::because)?;
    if let (true, Some(odd)) = (list.tools.is_empty(), list.odd.first()) {
        return Err(Stop::because(odd));
    }
    list.odd.iter().chain(&list.unread).for_each(note);
    if list.tools.is_empty() {
        note(format!("{name}: it lists no tools"));
    }
    Ok(list)
}

/// The tools of a file that agents may call. A list declares its tools, because the user named it here; a manifest decides for each tool.
pub fn callable(path: &Path) -> Result<Vec<Tool>, Stop> {
    let (name, text) = text(path)?;
    Ok(declared(&name, listing(&name, &text)?))
}

fn declared(name: &str, mut list: Listing) -> Vec<Tool> {
    if list.source == Source::Plugin {
        list.tools.retain(|tool| {
            if !tool.agent_callable {
                note(format!(
                    "{name}: {}: agents may not call it (agentCallable)",
                    tool.id
                ));
            }
            tool.agent_callable
        });
    }
    list.tools
}

/// Declared tools as the parser gets them.
pub struct Hints {
    pub tools: Arc<Tools>,
    /// The list in the form of OpenAI.
    pub list: Value,
}

impl Hints {
    /// Reads a file of definitions. The parser takes definitions that cannot be validated, too: it ignores only the malformed
    /// parts of a schema. What is wrong is reported.
    pub fn read(path: &Path) -> Result<Self, Stop> {
        let (name, text) = text(path)?;
        let document = read::document(&name, &text).map_err(Stop::because)?;
        let Value::Array(items) = document else {
            let tools = declared(&name, listing(&name, &text)?);
            let hints = Self::of(&name, tools.iter().map(openai).collect());
            faults(&Inventory::of(tools).map_err(Stop::because)?);
            return hints;
        };
        let list = read::listing(&name, &text).map_err(Stop::because)?;
        let place = |index: usize| format!("[{index}]");
        let odd = |index: usize| {
            list.odd
                .iter()
                .find(|odd| odd.path.starts_with(&place(index)))
        };
        let mut tools = list.tools.iter();
        let items = items.into_iter().enumerate();
        let items = items.map(|(index, item)| match odd(index) {
            Some(_) => item,
            None => tools.next().map_or(item, openai),
        });
        let hints = Self::of(&name, items.collect())?;
        let told = |odd: &&ReadError| {
            hints.tools.issues().iter().any(|issue| match issue {
                ToolsError::Shape { path, .. } => {
                    let end = path.find(']').map_or(0, |end| end + 1);
                    odd.path.starts_with(&path[..end])
                }
                _ => false,
            })
        };
        let more = list.odd.iter().filter(|odd| !told(odd));
        more.chain(&list.unread).for_each(note);
        if let Ok(inventory) = Inventory::of(list.tools) {
            faults(&inventory);
        }
        Ok(hints)
    }

    /// The hints of tools whose calls are validated.
    pub fn of_inventory(path: &Path, inventory: &Inventory) -> Result<Self, Stop> {
        let tools = inventory.tools().iter().map(|tool| openai(tool));
        Self::of(&path.display().to_string(), tools.collect())
    }

    fn of(name: &str, list: Vec<Value>) -> Result<Self, Stop> {
        let list = Value::Array(list);
        let tools = Tools::from_value(&list);
        let tools = tools.map_err(|error| Stop::because(format!("{name}: {error}")))?;
        for issue in tools.issues() {
            note(format!("{name}: {issue}"));
        }
        Ok(Self {
            tools: Arc::new(tools),
            list,
        })
    }
}

/// The hints of an optional file of definitions.
pub fn hints(path: Option<&Path>) -> Result<Option<Arc<Tools>>, Stop> {
    let hints = path.map(Hints::read).transpose()?;
    Ok(hints.map(|hints| hints.tools))
}

fn openai(tool: &Tool) -> Value {
    read::to_openai(tool, &tool.id)
}

/// Like [`callable`], as an inventory. Unusable schemas are reported.
pub fn inventory(path: &Path) -> Result<Inventory, Stop> {
    let inventory = Inventory::of(callable(path)?).map_err(Stop::because)?;
    faults(&inventory);
    Ok(inventory)
}

/// Reports unusable schemas; returns whether there are any.
fn faults(inventory: &Inventory) -> bool {
    let mut any = false;
    for (id, fault) in inventory.faults() {
        any = true;
        note(format!("{id}: parameters: {fault}"));
    }
    any
}
