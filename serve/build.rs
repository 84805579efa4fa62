//! Puts the files of the page into the program, if they have been built.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../page");
    let built = page.join("dist");
    // A path that does not exist would make every build run this again.
    for place in [&built, &page] {
        if place.is_dir() {
            println!("cargo::rerun-if-changed={}", place.display());
            break;
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = vec![];
    if built.join("index.html").is_file() {
        list(&built.canonicalize()?, "", &mut files)?;
    }
    files.sort();
    let mut out = "&[\n".to_owned();
    for (name, path) in &files {
        out.push_str(&format!("    ({name:?}, include_bytes!({path:?})),\n"));
    }
    out.push_str("]\n");
    let to = std::env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&to).join("page.rs"), out)
}

/// Lists the files of a folder, with their names below it.
fn list(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for one in fs::read_dir(folder)? {
        let path = one?.path();
        let own = path.file_name().and_then(|name| name.to_str());
        let Some(own) = own.filter(|own| !own.starts_with('.')) else {
            continue;
        };
        let name = format!("{prefix}{own}");
        if path.is_dir() {
            list(&path, &format!("{name}/"), files)?;
        } else {
            files.push((name, path.display().to_string()));
        }
    }
    Ok(())
}
