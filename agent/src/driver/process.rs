//! Processes as executors: the arguments as JSON on standard input and as items of argv, never through a shell.
//!
//! Invariant: a process has its own group, and the whole group is killed when the call is over, for whatever reason: the process
//! ended, timed out, wrote too much, or the call was cancelled. Memory: twice the maximum output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use toolglot::json::{Map, Value};

use super::function::content;
use super::template::{Template, spelled};
use super::{Executor, Gave, Out, Piece, SetupError, Stream, pieces};
use crate::step::Start;

/// Maximum bytes of standard error in an error message.
const COMPLAINT: usize = 4096;
/// How long output is read after the process has ended: a process outside its group may hold the pipe open.
const REST: Duration = Duration::from_secs(1);

/// Variables that every process inherits. Without the second, programs for Windows have neither sockets nor random numbers.
const ALWAYS: &[&str] = match cfg!(windows) {
    true => &["PATH", "SystemRoot"],
    false => &["PATH"],
};

/// The content of standard input.
///
/// See the example of [`ProcessSpec`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Input {
    /// The arguments as JSON text.
    #[default]
    Arguments,
    /// Nothing.
    None,
}

/// The format of output.
///
/// See the example of [`ProcessSpec`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Output {
    /// Text.
    #[default]
    Text,
    /// A JSON value.
    Json,
}

/// The description of a process.
///
/// ```
/// use toolglot_agent::driver::{Input, Output, Process, ProcessSpec};
///
/// let spec = ProcessSpec::new(["git", "log", "--format=%s", "-n", "{count}", "--", "{paths}"])
///     .stdin(Input::None)
///     .output(Output::Text)
///     .max_output(64 << 10);
/// assert!(Process::new(spec).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProcessSpec {
    /// The program and its arguments. `{name}` in an argument is replaced by an argument of the call; `{{` and `}}` are literal braces.
    /// An item whose argument is missing is omitted; an item that is only a placeholder for a list becomes the list's items. A value
    /// cannot become an option: at the start of an item it may begin with `-` only if it is a number or follows an item `--`.
    pub argv: Vec<String>,
    /// The content of standard input.
    pub stdin: Input,
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// Variables of its environment. It has no others except `PATH`, on Windows `SystemRoot`, and those of `inherit`.
    pub env: BTreeMap<String, String>,
    /// Names of variables that it inherits from the host.
    pub inherit: Vec<String>,
    /// The format of its output.
    pub output: Output,
    /// Bytes that it may write before it is killed; 1 MiB by default.
    pub max_output: usize,
}

impl ProcessSpec {
    /// Describes a program and its arguments.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

toolglot::setters! {
    ProcessSpec:
    stdin = Input,
    cwd: Option<PathBuf>,
    env = BTreeMap<String, String>,
    inherit = Vec<String>,
    output = Output,
    max_output = usize,
}

impl Default for ProcessSpec {
    fn default() -> Self {
        Self {
            argv: vec![],
            stdin: Input::Arguments,
            cwd: None,
            env: BTreeMap::new(),
            inherit: vec![],
            output: Output::Text,
            max_output: 1 << 20,
        }
    }
}

/// Executes each call as a process. Its output is progress and, if it ends with status 0, the result.
///
/// ```
/// use toolglot_agent::driver::{Process, ProcessSpec, SetupError};
///
/// assert!(Process::new(ProcessSpec::new(["date", "--date={day}"])).is_ok());
/// assert_eq!(Process::new(ProcessSpec::default()).unwrap_err(), SetupError::NoProgram);
/// ```
#[derive(Clone, Debug)]
pub struct Process {
    spec: Arc<ProcessSpec>,
    argv: Arc<[Template]>,
}

impl Process {
    /// Creates an executor from the description of a process.
    ///
    /// # Errors
    /// The program is missing or has a placeholder, or a placeholder is malformed.
    pub fn new(spec: ProcessSpec) -> Result<Self, SetupError> {
        let argv = spec.argv.iter().map(|item| Template::new(item));
        let argv = argv.collect::<Result<Arc<[_]>, _>>()?;
        match argv.first() {
            None => return Err(SetupError::NoProgram),
            Some(first) if !first.plain() || first.head().is_empty() => {
                return Err(SetupError::Program(spec.argv[0].clone()));
            }
            Some(_) => {}
        }
        Ok(Self {
            spec: Arc::new(spec),
            argv,
        })
    }

    /// Sets the folder that its working directory is relative to.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        let own = self.spec.cwd.as_deref().unwrap_or(Path::new("."));
        let mut spec = (*self.spec).clone();
        spec.cwd = Some(folder.join(own));
        self.spec = Arc::new(spec);
        self
    }

    fn arguments(&self, given: &Map) -> Result<Vec<String>, String> {
        let mut all = vec![];
        let mut ended = false;
        for item in &self.argv[1..] {
            let list = match item.whole().and_then(|name| given.get(name)) {
                Some(Value::Array(list)) => list.iter().filter_map(spelled).collect(),
                _ => item
                    .fill(given, str::to_owned)
                    .into_iter()
                    .collect::<Vec<_>>(),
            };
            for one in list {
                if !ended && item.head().is_empty() && one.starts_with('-') && !number(&one) {
                    return Err(format!("`{one}`: a value cannot begin with `-` here"));
                }
                if one.contains('\0') {
                    return Err("an argument has a NUL".to_owned());
                }
                all.push(one);
            }
            ended |= item.plain() && item.head() == "--";
        }
        Ok(all)
    }

    pub(super) fn command(&self, given: &Map) -> Result<Command, String> {
        let spec = &self.spec;
        let mut command = Command::new(self.argv[0].head());
        command
            .args(self.arguments(given)?)
            .env_clear()
            .kill_on_drop(true);
        let inherit = spec.inherit.iter().map(String::as_str);
        for name in inherit.chain(ALWAYS.iter().copied()) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(&spec.env);
        if let Some(folder) = &spec.cwd {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        command.process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    async fn run(self, call: Start, out: Out<Piece>) -> Gave {
        let given: Map = serde_json::from_str(&call.arguments).unwrap_or_default();
        let mut command = self.command(&given)?;
        let program = &self.spec.argv[0];
        let mut child = command
            .spawn()
            .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let group = Group::of(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(format!("`{program}` has no pipes").into());
        };
        let text = match self.spec.stdin {
            Input::Arguments => call.arguments,
            Input::None => String::new(),
        };
        let written = Mutex::new(vec![]);
        let complaint = Mutex::new(vec![]);
        let feed = async move {
            // A process may leave its input unread.
            let _ = stdin.write_all(text.as_bytes()).await;
            drop(stdin);
            Ok(())
        };
        let max = self.spec.max_output;
        let read = async {
            tokio::try_join!(
                feed,
                collect(stdout, &written, max, &out),
                tail(stderr, &complaint)
            )
            .map(drop)
        };
        let mut read = std::pin::pin!(read);
        let (status, over) = tokio::select! {
            status = child.wait() => (status, false),
            all = &mut read => {
                all?;
                (child.wait().await, true)
            }
        };
        // Kills descendants that outlived the process.
        drop(group);
        if !over && let Ok(all) = tokio::time::timeout(REST, read).await {
            all?;
        }
        let status = status.map_err(|error| format!("`{program}`: {error}"))?;
        let text = |bytes: &Mutex<Vec<u8>>| {
            let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&bytes)
                .trim_end_matches('\n')
                .to_owned()
        };
        self.gave(status, text(&written), &text(&complaint))
    }

    fn gave(&self, status: ExitStatus, text: String, complaint: &str) -> Gave {
        if !status.success() {
            let said = [complaint, text.as_str()].join("\n");
            let why = format!("{status}: {}", said.trim());
            return Err(why.trim_end_matches([' ', ':']).into());
        }
        match self.spec.output {
            Output::Text => Ok(content(Value::from(text.as_str()))),
            Output::Json => match serde_json::from_str::<Value>(&text) {
                Ok(value) => Ok(content(value)),
                Err(error) => Err(format!("the tool's output is not JSON: {error}").into()),
            },
        }
    }
}

impl Executor for Process {
    fn start(&self, call: Start) -> Stream<Piece> {
        let process = self.clone();
        pieces(async move |out: Out<Piece>| Piece::Done(process.run(call, out).await))
    }
}

/// Returns whether a text that begins with `-` is a negative number, and so no option. Words that Rust reads as a number (`-inf`) are
/// options to a program.
fn number(text: &str) -> bool {
    text[1..].starts_with(|first: char| first.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

/// The group of a process. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            id: id.and_then(rustix::process::Pid::from_raw),
        }
    }

    /// There are no process groups here: only the process itself is killed, when its handle is dropped.
    #[cfg(not(unix))]
    pub(super) fn of(_: &Child) -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // The group may already be empty.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

/// Reads output, and reports it as progress in whole characters.
async fn collect(
    mut from: impl AsyncRead + Unpin,
    into: &Mutex<Vec<u8>>,
    max: usize,
    out: &Out<Piece>,
) -> Result<(), String> {
    let mut buffer = vec![0; 8192];
    let mut told = 0;
    loop {
        let read = from.read(&mut buffer).await.unwrap_or_default();
        let piece = {
            let mut all = into.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend_from_slice(&buffer[..read]);
            if all.len() > max {
                return Err(format!(
                    "the tool wrote more than {max} bytes and was stopped"
                ));
            }
            let new = &all[told..];
            let whole = match std::str::from_utf8(new) {
                Err(error) if error.error_len().is_none() && read > 0 => error.valid_up_to(),
                Ok(_) | Err(_) => new.len(),
            };
            told += whole;
            String::from_utf8_lossy(&new[..whole]).into_owned()
        };
        if !piece.is_empty() {
            out.send(Piece::Progress(piece)).await;
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// Reads everything, and keeps only the end.
async fn tail(mut from: impl AsyncRead + Unpin, into: &Mutex<Vec<u8>>) -> Result<(), String> {
    let mut buffer = vec![0; 4096];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or_default();
        if read == 0 {
            return Ok(());
        }
        let mut all = into.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(&buffer[..read]);
        let over = all.len().saturating_sub(COMPLAINT);
        all.drain(..over);
    }
}
