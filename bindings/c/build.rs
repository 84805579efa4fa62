//! Sets the soname of the shared library, which changes with the ABI version of a release line.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let unix = std::env::var("CARGO_CFG_TARGET_OS")
        .is_ok_and(|os| ["linux", "freebsd"].contains(&os.as_str()));
    if unix {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtoolglot.so.0");
    }
}
