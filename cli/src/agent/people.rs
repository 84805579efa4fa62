//! Asks the person at the terminal.

use std::io::{self, Read, Write};
use std::sync::{Arc, PoisonError};

use tokio::sync::{Mutex, oneshot};
use toolglot::json::Map;
use toolglot_agent::driver::{Approver, Task};
use toolglot_agent::{Confirm, Decision};
use toolglot_testkit::json::escaped;

use super::note;
use crate::terminal;

/// Maximum bytes read of a line.
const LINE: u64 = 1 << 20;

/// Decides by `--yes-to` and lines of standard input.
pub struct People {
    yes: Vec<String>,
    /// The run is saved, so a decision can wait.
    keep: bool,
    /// Questions are asked one at a time.
    turn: Arc<Mutex<()>>,
}

impl People {
    pub fn new(yes: &[String], keep: bool) -> Self {
        Self {
            yes: yes.to_vec(),
            keep,
            turn: Arc::default(),
        }
    }

    /// For calls within calls, whose decision cannot wait.
    pub fn at_once(&self) -> Self {
        Self {
            yes: self.yes.clone(),
            keep: false,
            turn: self.turn.clone(),
        }
    }
}

impl Approver for People {
    fn confirm(&self, call: Confirm) -> Task<Option<Decision>> {
        if self.yes.contains(&call.tool) {
            return Box::pin(async { Some(Decision::Approve) });
        }
        let (turn, keep) = (self.turn.clone(), self.keep);
        Box::pin(async move {
            let _turn = turn.lock().await;
            ask(&call, keep).await
        })
    }
}

async fn ask(call: &Confirm, keep: bool) -> Option<Decision> {
    let name = terminal::one_line(&call.name);
    let mut question = format!("{name} {}\n", escaped(call.arguments.clone()));
    if !call.reason.is_empty() {
        question.push_str(&format!("  {}\n", terminal::one_line(&call.reason)));
    }
    let later = if keep { ", l(ater)" } else { "" };
    question.push_str(&format!(
        "Run it? y(es), n(o) [REASON], e(dit) ARGUMENTS{later}: "
    ));
    loop {
        let _ = io::stderr().write_all(question.as_bytes());
        let Some(line) = line().await else {
            let _ = writeln!(io::stderr());
            if keep {
                return None;
            }
            note(format!(
                "{name}: nobody is there to confirm it, so it is denied; --yes-to {} allows it, --save FILE keeps the run",
                call.tool
            ));
            return Some(Decision::Deny("nobody was there to confirm it".to_owned()));
        };
        match answer(&line, keep) {
            Ok(decision) => return decision,
            Err(why) => note(why),
        }
    }
}

/// Parses an answer; `None` defers the decision.
fn answer(line: &str, keep: bool) -> Result<Option<Decision>, String> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match word.to_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Ok(Some(Decision::Approve)),
        "n" | "no" => Ok(Some(Decision::Deny(rest.to_owned()))),
        "e" | "edit" => match serde_json::from_str::<Map>(rest) {
            Ok(_) => Ok(Some(Decision::Edit(rest.to_owned()))),
            Err(error) => Err(format!("the arguments are not a JSON object: {error}")),
        },
        "l" | "later" if rest.is_empty() => match keep {
            true => Ok(None),
            false => Err("deferring a decision requires --save".to_owned()),
        },
        _ => Err("that is not an answer".to_owned()),
    }
}

/// Who waits for the line that a thread reads, if one does.
static WAITS: std::sync::Mutex<Option<oneshot::Sender<Option<String>>>> =
    std::sync::Mutex::new(None);

/// Reads a line of standard input; `None` at its end. If the answer is no longer needed, the line that its thread reads answers the next
/// question.
async fn line() -> Option<String> {
    let waits = || WAITS.lock().unwrap_or_else(PoisonError::into_inner);
    let (give, wait) = oneshot::channel();
    let reading = waits().replace(give).is_some();
    if !reading {
        let read = move || {
            let mut bytes = vec![];
            let mut input = io::stdin().lock();
            let read = io::BufRead::read_until(&mut (&mut input).take(LINE), b'\n', &mut bytes);
            let line = match read {
                Ok(0) | Err(_) => None,
                Ok(_) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            };
            if let Some(give) = waits().take() {
                let _ = give.send(line);
            }
        };
        std::thread::Builder::new().spawn(read).ok()?;
    }
    wait.await.ok().flatten()
}
