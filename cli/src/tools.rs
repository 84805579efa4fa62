//! `toolglot tools`: converts tool definitions from any form to one.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use toolglot_tools::read::{self, Listing, Source};
use toolglot_tools::{Inventory, Tool};

use crate::args::{ToolsArgs, ToolsCommand};
use crate::input::{self, Input};
use crate::stop::{Stop, Verdict};

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
    let _ = writeln!(io::stderr(), "toolglot: {what}");
}

/// Reads a file of definitions, whatever their form. Malformed ones are reported and skipped; returns whether there were any.
/// A list without any valid definition is refused; an empty list is reported.
pub fn definitions(path: &Path) -> Result<(Vec<Tool>, bool), Stop> {
    let list = listing(path)?;
    Ok((list.tools, !list.odd.is_empty()))
}

fn listing(path: &Path) -> Result<Listing, Stop> {
    let mut bytes = vec![];
    let mut input = Input::open(path)?;
    input.exactly(usize::MAX, &mut bytes)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| input.wrong(format!("it is not UTF-8 text: {error}")))?;
    let list = read::listing(input.name(), &text).map_err(Stop::because)?;
    if let (true, Some(odd)) = (list.tools.is_empty(), list.odd.first()) {
        return Err(Stop::because(odd));
    }
    list.odd.iter().for_each(note);
    if list.tools.is_empty() {
        note(format!("{}: it lists no tools", input.name()));
    }
    Ok(list)
}

/// The tools of a file that agents may call. A list declares its tools, because the user named it here; a manifest decides for each tool.
pub fn callable(path: &Path) -> Result<Vec<Tool>, Stop> {
    let mut list = listing(path)?;
    if list.source == Source::Plugin {
        let name = path.display();
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
    Ok(list.tools)
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
