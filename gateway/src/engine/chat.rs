//! Chat completions from a server with OpenAI's protocol: all other members stay.

use toolglot::rewrite::{Completer, Rewriter, Same};
use toolglot::sink::openai::Settings;
use toolglot::{DialectSet, Finish, Options};

use super::{Engine, Told};

/// A streamed response.
pub struct ChatStream {
    rewriter: Rewriter,
    reason: Finish,
    told: Told,
}

impl ChatStream {
    pub fn new(set: &DialectSet, options: &Options, settings: &Settings) -> Self {
        let rewriter = Rewriter::new(set, options.clone())
            .settings(settings.clone())
            .passing();
        Self {
            rewriter,
            reason: Finish::Error,
            told: Told::default(),
        }
    }
}

/// Counts the content of a line. Quotes inside strings are escaped, so a member can be recognised by its key.
fn count(line: &str, told: &mut Told) {
    told.calls += line.matches(r#""function":{"name":"#).count() as u64;
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
        let told = &mut self.told;
        // An unreadable line is forwarded unchanged.
        let _ = self.rewriter.feed(bytes, &mut |line| {
            count(line, told);
            event(line, out);
        });
    }

    fn same(&self) -> Same {
        self.rewriter.same()
    }

    fn same_last(&self) -> Same {
        self.rewriter.same_last()
    }

    fn finish(&mut self, out: &mut Vec<u8>, ending: &mut Vec<u8>) {
        let told = &mut self.told;
        let end = self.rewriter.finish(None, &mut |line| {
            count(line, told);
            let error = line.starts_with(r#"{"error":"#);
            told.failed |= error;
            event(line, if error { ending } else { out });
        });
        self.reason = end.reason;
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if !matches!(self.reason, Finish::Error | Finish::Cancelled) {
            event("[DONE]", out);
        }
    }

    fn told(&self) -> &Told {
        &self.told
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
        if !end.changed {
            told.failed = end.reason == Finish::Error;
            return (None, told);
        }
        count(&line, &mut told);
        (Some(line), told)
    }
}
