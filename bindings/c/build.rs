//! Sets the name by which programs find the shared library, which changes with the ABI version of a release line.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let name = match os.as_str() {
        "linux" | "freebsd" => "-Wl,-soname,libtoolglot.so.0",
        // Programs say with -rpath where the folder is, as on Linux.
        "macos" => "-Wl,-install_name,@rpath/libtoolglot.0.dylib",
        _ => return,
    };
    println!("cargo::rustc-cdylib-link-arg={name}");
}
