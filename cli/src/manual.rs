//! `toolglot completions` and `toolglot man`: files that a package of the command installs beside it. Both are generated from the same
//! definitions that parse the command line, so they cover every option.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_mangen::Man;

use crate::args::{CompletionsArgs, ManArgs};
use crate::help;
use crate::stop::{Stop, Verdict};

/// Writes the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Verdict, Stop> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut help::command(), "toolglot", &mut script);
    print(&script)
}

/// Writes one manual page, or all of them into a folder.
pub fn pages(args: &ManArgs) -> Result<Verdict, Stop> {
    let mut root = help::command().disable_help_subcommand(true);
    // After this each subcommand has the global options.
    root.build();
    if let Some(dir) = &args.dir {
        fs::create_dir_all(dir).map_err(|error| unwritten(dir, &error))?;
        write(dir, root)?;
        return Ok(Verdict::Clean);
    }
    let command = match &args.of {
        None => root,
        Some(name) => {
            let known: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
            let known = known.join(", ");
            let found = root.find_subcommand(name).cloned();
            found.ok_or_else(|| {
                Stop::because(format!("there is no command `{name}`; there are {known}"))
            })?
        }
    };
    print(&page(&Man::new(command))?)
}

/// Writes the page of a command and those of its subcommands.
fn write(dir: &Path, command: Command) -> Result<(), Stop> {
    let below: Vec<Command> = command.get_subcommands().cloned().collect();
    let man = Man::new(command);
    let path = dir.join(man.get_filename());
    fs::write(&path, page(&man)?).map_err(|error| unwritten(&path, &error))?;
    below
        .into_iter()
        .try_for_each(|command| write(dir, command))
}

fn page(man: &Man) -> Result<Vec<u8>, Stop> {
    let mut page = vec![];
    man.render(&mut page).map_err(Stop::output)?;
    Ok(page)
}

fn unwritten(path: &Path, error: &io::Error) -> Stop {
    Stop::because(format!("cannot write {}: {error}", path.display()))
}

fn print(bytes: &[u8]) -> Result<Verdict, Stop> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).map_err(Stop::output)?;
    out.flush().map_err(Stop::output)?;
    Ok(Verdict::Clean)
}
