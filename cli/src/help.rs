//! The help: groups of commands and options, paragraphs that wrap with the terminal.

use std::ffi::OsString;

use clap::{ColorChoice, Command, CommandFactory, FromArgMatches};

use crate::args::Cli;

/// Groups of commands; the last has the rest.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Read what models wrote",
        &["parse", "batch", "stats", "detect"],
    ),
    (
        "Write what models read and write",
        &[
            "encode",
            "transcode",
            "prompt",
            "result",
            "render",
            "escape",
            "unescape",
        ],
    ),
    (
        "Tools and agents",
        &["validate", "tools", "run", "call", "serve", "gateway"],
    ),
    ("Dialects and tests", &["dialects", "check", "replay"]),
    ("Set up", &[]),
];

/// The command line.
pub fn command() -> Command {
    let command = paragraphs(Cli::command());
    let mut left: Vec<&Command> = command.get_subcommands().collect();
    let width = left.iter().map(|command| command.get_name().len()).max();
    let mut list = String::new();
    for (title, names) in GROUPS {
        let rest = names.is_empty();
        let (group, other) = left
            .into_iter()
            .partition(|command| rest || names.contains(&command.get_name()));
        left = other;
        let mut group: Vec<&Command> = group;
        group.sort_by_key(|command| names.iter().position(|name| *name == command.get_name()));
        list.push_str(&format!("{title}:\n"));
        for command in group {
            let about = command.get_about().map(ToString::to_string);
            let (name, width) = (command.get_name(), width.unwrap_or_default());
            list.push_str(&format!("  {name:width$}  {}\n", about.unwrap_or_default()));
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    ))
}

/// Reads the command line. A usage error ends the process, with status 2.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Cli {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut command = command().color(color(&arguments));
    let matches = command.try_get_matches_from_mut(arguments);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    cli.unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Help and usage errors have no colours either where `--color` says so, and are written before it is read.
fn color(arguments: &[OsString]) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = match word {
            "--" => break,
            "--color" => words.next(),
            _ => word.strip_prefix("--color="),
        };
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
    }
    choice
}

/// Joins the lines of each paragraph below the options, so that they wrap with the terminal.
fn paragraphs(command: Command) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let mut command = command;
    if let Some(text) = text {
        command = command.after_help(joined(&text));
    }
    command.mut_subcommands(paragraphs)
}

/// A line continues the one before it if neither is indented, empty, or a heading.
fn joined(text: &str) -> String {
    let mut out = String::new();
    let mut open = false;
    for line in text.lines() {
        let prose = !line.is_empty() && !line.starts_with(' ');
        if !out.is_empty() {
            out.push(if open && prose { ' ' } else { '\n' });
        }
        out.push_str(line);
        open = prose && !line.ends_with(':');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(command: &Command, check: &mut dyn FnMut(&Command)) {
        check(command);
        command
            .get_subcommands()
            .for_each(|command| each(command, check));
    }

    #[test]
    fn help_fits_100_columns() {
        let mut root = command().term_width(100);
        root.build();
        each(&root, &mut |command| {
            let long = command.clone().term_width(100).render_long_help();
            for line in long.to_string().lines() {
                assert!(
                    line.chars().count() <= 100,
                    "{}: {line}",
                    command.get_name()
                );
            }
            // An example is not wrapped: it is to be copied.
            let text = command.get_after_help().map(ToString::to_string);
            for line in text.iter().flat_map(|text| text.lines()) {
                let fits = line.chars().count() <= 100 || !line.starts_with(' ');
                assert!(fits, "{}: {line}", command.get_name());
            }
        });
    }

    #[test]
    fn many_options_are_in_groups() {
        let mut root = command();
        root.build();
        each(&root, &mut |command| {
            let plain = command
                .get_opts()
                .filter(|option| option.get_help_heading().is_none());
            let names: Vec<&str> = plain.map(|option| option.get_id().as_str()).collect();
            assert!(names.len() <= 6, "{}: {names:?}", command.get_name());
        });
    }

    #[test]
    fn every_command_is_listed_once() {
        let root = command();
        let help = root.clone().render_help().to_string();
        for command in root.get_subcommands() {
            let row = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&row).count(), 1, "{row}");
        }
    }

    #[test]
    fn paragraphs_are_joined() {
        assert_eq!(
            joined("A\nb.\nSee:\n  x\n  y\nand\nz.\n\nExamples:\n  one\n"),
            "A b. See:\n  x\n  y\nand z.\n\nExamples:\n  one"
        );
    }
}
