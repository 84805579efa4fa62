//! `toolglot tools`: definitions of tools, from any form into one.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use toolglot::tools::{Inventory, Tool, read};

use crate::args::{ToolsArgs, ToolsCommand};
use crate::input::Input;
use crate::stop::{Stop, Verdict};

pub fn run(args: &ToolsArgs) -> Result<Verdict, Stop> {
    let ToolsCommand::Import {
        files,
        server,
        output,
    } = &args.command;
    let mut tools: Vec<Tool> = vec![];
    let mut places: HashMap<String, &Path> = HashMap::new();
    for file in files {
        for tool in definitions(file)? {
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
    let faulty = faults(&Inventory::of(tools).map_err(Stop::because)?);
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

/// Reads a file of definitions, whatever their form. That there are none is told, and is no error.
pub fn definitions(path: &Path) -> Result<Vec<Tool>, Stop> {
    let mut bytes = vec![];
    let mut input = Input::open(path)?;
    input.exactly(usize::MAX, &mut bytes)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| input.wrong(format!("it is not UTF-8 text: {error}")))?;
    let tools = read::any(input.name(), &text).map_err(Stop::because)?;
    if tools.is_empty() {
        let _ = writeln!(
            io::stderr(),
            "toolglot: {}: it lists no tools",
            input.name()
        );
    }
    Ok(tools)
}

/// The tools of a file.
pub fn inventory(path: &Path) -> Result<Inventory, Stop> {
    Inventory::of(definitions(path)?).map_err(Stop::because)
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
