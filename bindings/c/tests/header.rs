//! The committed header is the one that the sources make.
//!
//! `TOOLGLOT_BLESS=1 cargo test -p toolglot-c --test header` writes it anew.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = crate_dir.join("../../include/toolglot.h");
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"))
        .expect("cbindgen.toml is well formed");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(crate_dir.join("src/lib.rs"))
        .generate()
        .expect("the sources are well formed");
    let mut text = vec![];
    bindings.write(&mut text);
    let text = finish(&String::from_utf8(text).expect("a header is text"));
    if std::env::var_os("TOOLGLOT_BLESS").is_some() {
        return std::fs::write(&place, text).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&place).unwrap_or_default();
    let differs = committed
        .lines()
        .zip(text.lines())
        .position(|(a, b)| a != b);
    assert!(
        committed == text,
        "include/toolglot.h is not what the sources make (line {:?}): TOOLGLOT_BLESS=1 cargo test -p toolglot-c --test header",
        differs.map(|line| line + 1)
    );
}

/// The version, and what C wants to have spelled with care: a negative number in brackets, the greatest number by its name.
fn finish(text: &str) -> String {
    let line = |line: &str| match line
        .strip_prefix("#define ")
        .and_then(|rest| rest.split_once(' '))
    {
        Some((name, value)) if value.starts_with('-') => format!("#define {name} ({value})\n"),
        Some((name, "4294967295")) => format!("#define {name} UINT32_MAX\n"),
        _ => format!("{line}\n"),
    };
    text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .lines()
        .map(line)
        .collect()
}
