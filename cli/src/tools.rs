//! `toolglot tools`: definitions of tools, from any form into one.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use toolglot_tools::read::{self, Listing, Source};
use toolglot_tools::{Inventory, Tool};

use crate::args::{ToolsArgs, ToolsCommand};
use crate::input::Input;
use crate::stop::{Stop, Verdict};

pub fn run(args: &ToolsArgs) -> Result<Verdict, Stop> {
    let ToolsCommand::Import {
        files,
        server,
        output,
    } = &args.command;
    let mut faulty = false;
    let mut tools: Vec<Tool> = vec![];
    let mut places: HashMap<String, &Path> = HashMap::new();
    for file in files {
        let (found, odd) = definitions(file)?;
        faulty |= odd;
        for tool in found {
            if let Some(first) = places.insert(tool.id.clone(), file) {
                let (file, first) = (file.display(), first.display());
                let why = format!("{file}: there is a tool {} already, in {first}", tool.id);
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

/// Says on standard error what was passed over. If it is closed, the rest has to do.
fn note(what: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "toolglot: {what}");
}

/// Reads a file of definitions, whatever their form. What is odd is told and passed over, the others count; whether
/// something was. A list of which nothing is left is refused; that it was empty is told.
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

/// The tools of a file that agents may call. A list is what is declared, since somebody named it here; a manifest says for each
/// tool whether it is.
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

/// The same as an inventory.
pub fn inventory(path: &Path) -> Result<Inventory, Stop> {
    Inventory::of(callable(path)?).map_err(Stop::because)
}

/// Tells of schemas that cannot be used; whether there are any.
fn faults(inventory: &Inventory) -> bool {
    let mut any = false;
    for (id, fault) in inventory.faults() {
        any = true;
        // If standard error is closed, the status has to do.
        let _ = writeln!(io::stderr(), "toolglot: {id}: parameters: {fault}");
    }
    any
}
