//! Keeps the keys of model servers out of runs: a server may repeat the key that it refuses, and a tool may read the file that has it.
//!
//! Keys are replaced where text enters a run, in what models and tools say, so that events, saved runs and messages never contain
//! them. A key may come in two pieces: the end of a piece that begins a key is held back until the next one.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use toolglot::json::{Map, Value};
use toolglot_agent::driver::{Executor, Executors, Model, Piece, Stream, Toolbox};
use toolglot_agent::{Ask, Receipt, Said, Start};
use toolglot_tools::outcome::Content;

/// Shorter ones are what servers without keys are given, such as `none` and `EMPTY`; as words they occur anywhere.
const SHORTEST: usize = 8;
/// What replaces a key.
const INSTEAD: &str = "[key]";

/// Texts that must be in no event and no file.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Longest first, also as they are within the text of a JSON string.
    all: Vec<Vec<u8>>,
}

impl Secrets {
    pub fn new(given: &[String]) -> Self {
        let long = given.iter().filter(|secret| secret.len() >= SHORTEST);
        let both = long.flat_map(|secret| {
            let quoted = Value::from(secret.as_str()).to_string();
            let within = quoted.as_bytes()[1..quoted.len() - 1].to_vec();
            [secret.as_bytes().to_vec(), within]
        });
        let mut all: Vec<Vec<u8>> = both.collect();
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self { all }
    }

    /// Whether a text contains one.
    pub fn within(&self, text: &str) -> bool {
        let found = |secret: &Vec<u8>| text.as_bytes().windows(secret.len()).any(|w| w == secret);
        self.all.iter().any(found)
    }

    fn clean(&self, text: &str) -> String {
        let mut seam = Seam::default();
        let mut out = seam.text(self, text);
        out.push_str(&seam.end_text(self));
        out
    }

    fn clean_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.clean(&text).into(),
            Value::Array(list) => {
                let list = list.into_iter().map(|one| self.clean_value(one));
                list.collect::<Vec<_>>().into()
            }
            Value::Object(members) => {
                let members = members.into_iter();
                let clean = members.map(|(name, one)| (self.clean(&name), self.clean_value(one)));
                Value::Object(clean.collect::<Map>())
            }
            other => other,
        }
    }

    fn clean_content(&self, content: Content) -> Content {
        match content {
            Content::Text(text) => Content::Text(self.clean(&text)),
            Content::Json(value) => Content::Json(self.clean_value(value)),
            Content::Resource { uri, mime, text } => Content::Resource {
                uri: self.clean(&uri),
                mime,
                text: text.map(|text| self.clean(&text)),
            },
            other => other,
        }
    }
}

/// Where two pieces of a text meet.
#[derive(Debug, Default)]
struct Seam {
    /// What may begin a key.
    held: Vec<u8>,
}

impl Seam {
    /// Returns a piece without keys, up to what may begin one. Of keys that begin at the same place the longest is replaced,
    /// however the text is split.
    fn piece(&mut self, secrets: &Secrets, piece: &[u8], over: bool) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let all = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(all.len());
        let mut at = 0;
        while at < all.len() {
            let rest = &all[at..];
            if !over
                && secrets
                    .all
                    .iter()
                    .any(|one| one.len() > rest.len() && one.starts_with(rest))
            {
                self.held = rest.to_vec();
                break;
            }
            match secrets.all.iter().find(|one| rest.starts_with(one)) {
                Some(secret) => {
                    out.extend_from_slice(INSTEAD.as_bytes());
                    at += secret.len();
                }
                None => {
                    out.push(all[at]);
                    at += 1;
                }
            }
        }
        out
    }

    /// The same for text. Keys are text, so no character is split.
    fn text(&mut self, secrets: &Secrets, piece: &str) -> String {
        let clean = self.piece(secrets, piece.as_bytes(), false);
        String::from_utf8_lossy(&clean).into_owned()
    }

    fn end_text(&mut self, secrets: &Secrets) -> String {
        String::from_utf8_lossy(&self.piece(secrets, b"", true)).into_owned()
    }
}

/// A model that says no keys.
pub struct CleanModel {
    pub inner: Arc<dyn Model>,
    pub secrets: Arc<Secrets>,
}

impl Model for CleanModel {
    fn ask(&self, ask: Ask) -> Stream<Said> {
        let secrets = Arc::clone(&self.secrets);
        let (mut text, mut reasoning) = (Seam::default(), Seam::default());
        // `None` is the end of a stream that has no other.
        let said = self.inner.ask(ask).map(Some);
        let said = said.chain(stream::once(std::future::ready(None)));
        Box::pin(said.flat_map(move |said| {
            let mut out = vec![];
            let last = match said {
                Some(Said::Text(piece)) => Some(Said::Text(text.piece(&secrets, &piece, false))),
                Some(Said::Reasoning(piece)) => {
                    Some(Said::Reasoning(reasoning.text(&secrets, &piece)))
                }
                Some(Said::Native(mut call)) => {
                    call.name = secrets.clean(&call.name);
                    call.arguments = secrets.clean(&call.arguments);
                    Some(Said::Native(call))
                }
                Some(Said::Gap(why)) => Some(Said::Gap(secrets.clean(&why))),
                Some(Said::Refused { name, kind, why }) => Some(Said::Refused {
                    name: secrets.clean(&name),
                    kind,
                    why: secrets.clean(&why),
                }),
                end => {
                    out.push(Said::Reasoning(reasoning.end_text(&secrets)));
                    out.push(Said::Text(text.piece(&secrets, b"", true)));
                    end.map(|end| match end {
                        Said::Failed(why) => Said::Failed(secrets.clean(&why)),
                        end => end,
                    })
                }
            };
            out.extend(last);
            out.retain(|said| match said {
                Said::Text(bytes) => !bytes.is_empty(),
                Said::Reasoning(text) => !text.is_empty(),
                _ => true,
            });
            stream::iter(out)
        }))
    }
}

/// Tools that say no keys.
struct CleanTools {
    inner: Executors,
    secrets: Arc<Secrets>,
}

/// Replaces keys in what the tools of a toolbox say.
pub fn clean_tools(toolbox: &mut Toolbox, secrets: &Arc<Secrets>) {
    let clean: Arc<dyn Executor> = Arc::new(CleanTools {
        inner: toolbox.executors.clone(),
        secrets: Arc::clone(secrets),
    });
    for tool in &toolbox.tools {
        if toolbox.executors.get(&tool.id).is_some() {
            toolbox.executors.add(&tool.id, Arc::clone(&clean));
        }
    }
}

impl CleanTools {
    fn clean(&self, pieces: Stream<Piece>) -> Stream<Piece> {
        let secrets = Arc::clone(&self.secrets);
        let mut progress = Seam::default();
        Box::pin(pieces.flat_map(move |piece| {
            let mut out = vec![];
            match piece {
                Piece::Progress(text) => out.push(Piece::Progress(progress.text(&secrets, &text))),
                Piece::Done(gave) => {
                    out.push(Piece::Progress(progress.end_text(&secrets)));
                    out.push(Piece::Done(match gave {
                        Ok(list) => {
                            let list = list.into_iter();
                            Ok(list.map(|one| secrets.clean_content(one)).collect())
                        }
                        Err(why) => Err(secrets.clean(why.message()).into()),
                    }));
                }
                other => out.push(other),
            }
            out.retain(|piece| !matches!(piece, Piece::Progress(text) if text.is_empty()));
            stream::iter(out)
        }))
    }
}

impl Executor for CleanTools {
    fn start(&self, call: Start) -> Stream<Piece> {
        self.clean(self.inner.start(call))
    }

    fn recall(&self, receipt: &Receipt) -> Option<Stream<Piece>> {
        Some(self.clean(self.inner.recall(receipt)?))
    }
}
