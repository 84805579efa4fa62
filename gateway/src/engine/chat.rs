//! Chat completions from a server with OpenAI's protocol: all other members stay.

use toolglot::rewrite::{Completer, Given, Rewriter, Same};
use toolglot::sink::openai::Settings;
use toolglot::{DialectSet, Finish, Options};

use super::{Engine, Told};

/// A streamed response.
pub struct ChatStream {
    set: DialectSet,
    options: Options,
    settings: Settings,
    rewriter: Rewriter,
    lines: Lines,
}

impl ChatStream {
    /// `holds`: the end of a reply whose calls were withheld waits, because the model may be asked again.
    pub fn new(set: &DialectSet, options: &Options, settings: &Settings, holds: bool) -> Self {
        let rewriter = Rewriter::new(set, options.clone())
            .settings(settings.clone())
            .passing();
        let lines = Lines {
            holds,
            text_only: true,
            ..Lines::default()
        };
        Self {
            set: set.clone(),
            options: options.clone(),
            settings: settings.clone(),
            rewriter,
            lines,
        }
    }
}

/// The output of a rewriter.
#[derive(Default)]
struct Lines {
    told: Told,
    /// The metadata of the response, once a line tells it.
    given: Option<Given>,
    /// A finish reason was written.
    ended: bool,
    /// The client has seen nothing but text.
    text_only: bool,
    holds: bool,
    /// The held end.
    held: Vec<String>,
    /// The lines are those of a second reply.
    second: bool,
}

/// The begin of a delta with the role, and how that of a second reply begins: a client joins the deltas of both.
const ROLE: (&str, &str) = (r#""delta":{"role":"assistant","#, r#""delta":{"#);

impl Lines {
    fn take(&mut self, line: &str, out: &mut Vec<u8>) {
        let second = self.second.then(|| line.replacen(ROLE.0, ROLE.1, 1));
        let line = second.as_deref().unwrap_or(line);
        if self.given.is_none() {
            self.given = given(line);
        }
        // Quotes inside strings are escaped, so a member can be recognized by its key.
        self.ended |= line.contains(r#""finish_reason":""#);
        self.text_only &= !line.contains(r#""tool_calls":[{"#);
        self.told.failed |= is_error(line);
        count(line, &mut self.told);
        match self.asks() || !self.held.is_empty() {
            true => self.held.push(line.to_owned()),
            false => event(line, out),
        }
    }

    /// Whether the end is held.
    fn asks(&self) -> bool {
        self.holds && self.text_only && !self.told.failed && self.told.asks()
    }

    fn let_go(&mut self, out: &mut Vec<u8>) {
        for line in std::mem::take(&mut self.held) {
            event(&line, out);
        }
    }

    fn close(&self, out: &mut Vec<u8>) {
        if self.ended && !self.told.failed {
            event("[DONE]", out);
        }
    }
}

/// Reads the metadata of a chunk.
fn given(line: &str) -> Option<Given> {
    let chunk: serde_json::Value = serde_json::from_str(line).ok()?;
    let word = |key: &str| chunk[key].as_str().map(str::to_owned);
    chunk.get("choices")?;
    let mut given = Given::default();
    given.id = word("id");
    given.created = chunk["created"].as_u64();
    given.model = word("model");
    Some(given)
}

fn is_error(line: &str) -> bool {
    line.starts_with(r#"{"error":"#)
}

/// Counts the content of a line.
fn count(line: &str, told: &mut Told) {
    told.calls += line.matches(r#""function":{"name":"#).count() as u64;
    told.filtered |= line.contains(r#""finish_reason":"content_filter""#);
    if line.contains(r#""toolglot":"#)
        && let Ok(chunk) = serde_json::from_str::<serde_json::Value>(line)
    {
        told.left(&chunk["toolglot"]);
        for choice in chunk["choices"].as_array().into_iter().flatten() {
            told.left(&choice["toolglot"]);
        }
    }
}

fn event(line: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(b"\n\n");
}

impl Engine for ChatStream {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let lines = &mut self.lines;
        // An unreadable line is forwarded unchanged.
        let _ = self.rewriter.feed(bytes, &mut |line| lines.take(line, out));
        lines.told.native = self.rewriter.native();
    }

    fn same(&self) -> Same {
        self.rewriter.same()
    }

    fn same_last(&self) -> Same {
        match self.lines.held.is_empty() {
            true => self.rewriter.same_last(),
            // The last event is held, too.
            false => Same::No,
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>, ending: &mut Vec<u8>) {
        let lines = &mut self.lines;
        self.rewriter.finish(None, &mut |line| {
            let out = if is_error(line) {
                &mut *ending
            } else {
                &mut *out
            };
            lines.take(line, out);
        });
        if !self.asks() {
            self.lines.let_go(out);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if !self.asks() {
            self.lines.close(out);
        }
    }

    fn told(&self) -> &Told {
        &self.lines.told
    }

    fn asks(&self) -> bool {
        self.lines.asks()
    }

    fn again(&mut self) {
        // Call ids must differ from those of the first reply.
        self.settings.id_seed = self.settings.id_seed.wrapping_add(1);
        self.rewriter = Rewriter::new(&self.set, self.options.clone())
            .settings(self.settings.clone())
            .given(self.lines.given.clone().unwrap_or_default());
        let lines = &mut self.lines;
        lines.held.clear();
        lines.told = Told::default();
        lines.ended = false;
        lines.second = true;
    }

    fn give_up(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.lines.holds) && !self.lines.held.is_empty() {
            self.lines.let_go(out);
            self.lines.close(out);
        }
    }
}

/// A response that is not streamed.
pub struct ChatWhole;

impl ChatWhole {
    /// Returns the converted body, if anything was converted.
    pub fn rewrite(
        set: &DialectSet,
        options: &Options,
        settings: &Settings,
        body: &[u8],
    ) -> (Option<String>, Told) {
        let mut completer = Completer::new(set, options.clone()).settings(settings.clone());
        let _ = completer.feed(body);
        let (line, end) = completer.finish(None);
        let mut told = Told::default();
        count(&line, &mut told);
        match end.changed {
            true => (Some(line), told),
            false => {
                let told = Told {
                    failed: end.reason == Finish::Error && !told.filtered,
                    filtered: told.filtered,
                    ..Told::default()
                };
                (None, told)
            }
        }
    }
}
