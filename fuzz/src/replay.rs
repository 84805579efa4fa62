//! Runs one target over files or folders, without a fuzzer: `replay chunking corpus/chunking regressions/chunking`.
//!
//! Says which file is at work before a check fails, so that a finding can be looked at with the stable compiler.

#[path = "../checks/mod.rs"]
mod checks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io, panic};

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let target: fn(&[u8]) = match args.next().as_deref() {
        Some("chunking") => checks::chunking,
        Some("builtin") => checks::builtin,
        Some("user_dialect") => checks::user_dialect,
        Some("escape") => checks::escape,
        Some("encode") => checks::encode,
        Some("json") => checks::json,
        Some("pythonic") => checks::pythonic,
        Some("tagged") => checks::tagged,
        Some("snapshot") => checks::snapshot,
        _ => {
            eprintln!(
                "usage: replay chunking|builtin|user_dialect|escape|encode|json|pythonic|tagged|snapshot FILE-OR-FOLDER..."
            );
            return ExitCode::from(2);
        }
    };
    let mut files = vec![];
    for path in args.map(PathBuf::from) {
        if let Err(error) = gather(&path, &mut files) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::from(2);
        }
    }
    let mut failed = 0;
    for file in &files {
        match fs::read(file) {
            Ok(data) if panic::catch_unwind(|| target(&data)).is_ok() => {}
            Ok(_) => {
                eprintln!("^ {}\n", file.display());
                failed += 1;
            }
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                failed += 1;
            }
        }
    }
    println!("{} inputs, {failed} failed", files.len());
    ExitCode::from(u8::from(failed > 0))
}

/// A file, or every file of a folder.
fn gather(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut inside: Vec<PathBuf> = fs::read_dir(path)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    inside.sort();
    files.extend(inside.into_iter().filter(|path| path.is_file()));
    Ok(())
}
