//! The command as people run it: its output, its exit status, and its messages for bad input.

#[cfg(feature = "agent")]
mod agent;
mod api;
mod batch;
mod check;
mod detect;
mod dialects;
mod encode;
mod escape;
#[cfg(feature = "gateway")]
mod gateway;
mod help;
mod parse;
mod prompt;
mod replay;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "agent")]
mod toolbox;
mod tools;
mod validate;

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use toolglot::json::Value;

const CALL: &str =
    "Looking. <tool_call name=\"weather\"><param name=\"city\">Leith</param></tool_call> Done.";
const CUT: &str = "Looking. <tool_call name=\"weather\"><param name=\"city\">Lei";

/// The result of a run.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// Standard output as JSON, one value per line.
    fn json(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }

    /// Asserts that the run was refused with status 2 and a single line that contains all of `words`,
    /// without other output.
    fn refused(&self, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(
            self.err.starts_with("toolglot: ") || self.err.starts_with("error: "),
            "{}",
            self.err
        );
        for word in words {
            assert!(self.err.contains(word), "{word}: {}", self.err);
        }
        for word in ["panicked", "backtrace", "internal error"] {
            assert!(!self.err.contains(word), "{}", self.err);
        }
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolglot"));
    command
        .args(args)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the command with this standard input.
fn run(args: &[&str], input: &[u8]) -> Ran {
    let mut child = command(args).spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A command that does not read its input may close the pipe.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer ends");
    Ran {
        code: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("the messages are UTF-8"),
    }
}

/// A file with this content, in its own directory.
fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = directory().join(name);
    fs::write(&path, content).expect("a file can be written");
    path.to_str().expect("a UTF-8 path").to_owned()
}

/// An empty directory. It is the same in every run of a test, so that nothing accumulates.
fn directory() -> PathBuf {
    thread_local! {
        static NEXT: Cell<u32> = const { Cell::new(0) };
    }
    let number = NEXT.replace(NEXT.get() + 1);
    let test = thread::current()
        .name()
        .expect("a test has a name")
        .replace("::", "-");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{number}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a directory can be made");
    path
}

/// A file of the repository.
fn repository(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}
