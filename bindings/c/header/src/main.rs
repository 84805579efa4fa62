//! Generates `include/toolglot.h` from the sources of the C crate, or checks that the committed header is up to date.
//!
//! ```text
//! cargo run --manifest-path bindings/c/header/Cargo.toml             checks
//! cargo run --manifest-path bindings/c/header/Cargo.toml -- write    writes
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = package.join("../..");
    let place = root.join("include/toolglot.h");
    let text = header(&package, &version(&root.join("Cargo.toml"))?)?;
    if env::args().nth(1).as_deref() == Some("write") {
        return fs::write(&place, text).map_err(|error| error.to_string());
    }
    let committed = fs::read_to_string(&place).unwrap_or_default();
    if committed == text {
        return Ok(());
    }
    let line = committed
        .lines()
        .zip(text.lines())
        .take_while(|(a, b)| a == b)
        .count();
    Err(format!(
        "include/toolglot.h differs from the sources from line {} on; regenerate it:\n  \
         cargo run --manifest-path bindings/c/header/Cargo.toml -- write",
        line + 1
    ))
}

/// The version of the package.
fn version(manifest: &PathBuf) -> Result<String, String> {
    let text = fs::read_to_string(manifest).map_err(|error| error.to_string())?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|rest| rest.strip_suffix('"'));
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml names no version".to_owned())
}

fn header(package: &Path, version: &str) -> Result<String, String> {
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml"))?;
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(package.join("src/lib.rs"));
    let bindings = builder.generate().map_err(|error| error.to_string())?;
    let mut text = vec![];
    bindings.write(&mut text);
    let text = String::from_utf8(text).map_err(|error| error.to_string())?;
    Ok(finish(&text, version))
}

/// Inserts the version, and adjusts constants for C: brackets around a negative number, a name for the greatest number.
fn finish(text: &str, version: &str) -> String {
    let line = |line: &str| {
        let define = line
            .strip_prefix("#define ")
            .and_then(|rest| rest.split_once(' '));
        match define {
            Some((name, value)) if value.starts_with('-') => format!("#define {name} ({value})\n"),
            Some((name, "4294967295")) => format!("#define {name} UINT32_MAX\n"),
            _ => format!("{line}\n"),
        }
    };
    text.replace("@VERSION@", version)
        .lines()
        .map(line)
        .collect()
}
