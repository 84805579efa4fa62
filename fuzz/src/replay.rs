//! Runs one target over files or folders, without a fuzzer: `replay chunking corpus/chunking regressions/chunking`.
//!
//! Prints the file of each failed check, so that a finding can be examined with the stable compiler.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io, panic};

use toolglot_fuzz::check;

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let target = match check(&args.next().unwrap_or_default()) {
        Ok(target) => target,
        Err(message) => {
            eprintln!("{message}\nusage: replay TARGET FILE-OR-FOLDER...");
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
