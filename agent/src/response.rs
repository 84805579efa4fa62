//! Converts responses of model servers into pieces of a reply.

use toolglot::source::{Assembly, Item, Source, SourceError};
use toolglot::{Finish, Kind, NativeCall};

/// Maximum bytes of incomplete API tool calls.
const CALLS: u64 = 1 << 20;

/// A piece of a model's reply.
///
/// See the example of [`Response`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Said {
    /// Bytes of its text, split anywhere.
    Text(Vec<u8>),
    /// Reasoning that the server delivered beside the text.
    Reasoning(String),
    /// An API tool call.
    Native(NativeCall),
    /// Part of the response could not be read, and why. What is open lacks bytes: an open call is at most recovered.
    Gap(String),
    /// An API tool call that could not be read.
    Refused {
        /// Its name, as far as it is known.
        name: String,
        /// What the model is told.
        kind: Kind,
        /// Why, for people.
        why: String,
    },
    /// The end of the reply. Anything after it is ignored.
    End(Finish),
    /// The model could not be asked, or its reply broke off, with the reason. Anything after it is ignored.
    Failed(String),
}

/// Parses the response of a model server, in chunks of any size.
///
/// ```
/// use toolglot::Finish;
/// use toolglot::source::Ollama;
/// use toolglot_agent::{Response, Said};
///
/// let mut response = Response::new(Ollama::new());
/// let mut said = response.feed(b"{\"message\": {\"content\": \"Hi\"}}\n{\"done\": true}\n");
/// said.extend(response.end());
/// assert_eq!(said, [Said::Text(b"Hi".to_vec()), Said::End(Finish::Stop)]);
/// ```
pub struct Response {
    source: Box<dyn Source + Send>,
    heard: Heard,
}

/// The state of a response.
struct Heard {
    said: Vec<Said>,
    calls: Assembly,
    finish: Option<Finish>,
    /// Why the response failed.
    failure: Option<String>,
    over: bool,
}

impl std::fmt::Debug for Response {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Response")
    }
}

impl Response {
    /// Creates a parser for responses in the format of a source.
    pub fn new(source: impl Source + Send + 'static) -> Self {
        Self {
            source: Box::new(source),
            heard: Heard {
                said: vec![],
                calls: Assembly::new(CALLS),
                finish: None,
                failure: None,
                over: false,
            },
        }
    }

    /// Feeds bytes and returns the pieces they complete. The last piece of a reply is [`Said::End`] or [`Said::Failed`], as soon as
    /// the end is known.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Said> {
        let heard = &mut self.heard;
        self.source.feed(bytes, &mut |item| heard.take(item));
        heard.ends(false)
    }

    /// Ends the response and returns the remaining pieces.
    pub fn end(&mut self) -> Vec<Said> {
        let heard = &mut self.heard;
        self.source.end(&mut |item| heard.take(item));
        heard.ends(true)
    }
}

impl Heard {
    fn take(&mut self, item: Item<'_>) {
        match item {
            Item::Text(text) => match self.said.last_mut() {
                Some(Said::Text(last)) => last.extend_from_slice(text.as_bytes()),
                _ => self.said.push(Said::Text(text.as_bytes().to_vec())),
            },
            Item::Reasoning(text) => self.said.push(Said::Reasoning(text.to_owned())),
            Item::Call(piece) => {
                if let Err(error) = self.calls.piece(&piece) {
                    self.error(&error);
                }
            }
            Item::CallEnd(index) => self.calls.end(index),
            Item::Finish(reason) => self.finish = self.finish.or(Some(reason)),
            Item::Error(error) => self.error(&error),
            _ => {}
        }
        while let Some(call) = self.calls.next(self.finish) {
            match call {
                Ok(call) => self.said.push(Said::Native(call)),
                Err(error) => self.error(&error),
            }
        }
    }

    /// Notes what could not be read, or that the server gave up.
    fn error(&mut self, error: &SourceError) {
        let why = error.to_string();
        if error.is_gap() {
            self.calls.gap();
            self.said.push(Said::Gap(why));
        } else if let Some((name, kind)) = error.refused() {
            let name = name.to_owned();
            self.said.push(Said::Refused { name, kind, why });
        } else {
            self.failure.get_or_insert(why);
        }
    }

    /// Returns the new pieces, with the end if it is known.
    fn ends(&mut self, over: bool) -> Vec<Said> {
        if self.over {
            self.said.clear();
            return vec![];
        }
        let end = match (self.finish, &self.failure) {
            // A server that reports an error has not finished its reply, whatever follows.
            (_, Some(why)) => Some(Said::Failed(why.clone())),
            (Some(Finish::Error), None) => Some(Said::Failed(
                "the server ended the reply with an error".to_owned(),
            )),
            (Some(reason), None) => Some(Said::End(reason)),
            (None, None) if over => Some(Said::Failed(SourceError::Cut.to_string())),
            (None, None) => None,
        };
        self.over = end.is_some();
        if self.over {
            while let Some(error) = self.calls.rest() {
                self.error(&error);
            }
        }
        let mut said = std::mem::take(&mut self.said);
        said.extend(end);
        said
    }
}
