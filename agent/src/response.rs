//! Converts responses of model servers into pieces of a reply.

use toolglot::source::{Assembly, Item, Source, SourceError};
use toolglot::{Finish, NativeCall};

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
    error: Option<SourceError>,
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
                error: None,
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
        let fault = match item {
            Item::Text(text) => {
                match self.said.last_mut() {
                    Some(Said::Text(last)) => last.extend_from_slice(text.as_bytes()),
                    _ => self.said.push(Said::Text(text.as_bytes().to_vec())),
                }
                None
            }
            Item::Reasoning(text) => {
                self.said.push(Said::Reasoning(text.to_owned()));
                None
            }
            Item::Call(piece) => self.calls.piece(&piece).err(),
            Item::CallEnd(index) => {
                self.calls.end(index);
                None
            }
            Item::Finish(reason) => {
                self.finish = self.finish.or(Some(reason));
                None
            }
            Item::Error(error) => Some(error),
            _ => None,
        };
        self.error = self.error.take().or(fault);
        while let Some(call) = self.calls.next(self.finish) {
            match call {
                Ok(call) => self.said.push(Said::Native(call)),
                Err(error) => self.error = self.error.take().or(Some(error)),
            }
        }
    }

    /// Returns the new pieces, with the end if it is known.
    fn ends(&mut self, over: bool) -> Vec<Said> {
        let mut said = std::mem::take(&mut self.said);
        if self.over {
            return vec![];
        }
        let end = match (self.finish, &self.error) {
            // Servers report at the end of a broken response why it broke.
            (Some(Finish::Error), None) => Some(Said::Failed(
                "the server ended the reply with an error".to_owned(),
            )),
            (Some(Finish::Error), Some(why)) => Some(Said::Failed(why.to_string())),
            (Some(reason), _) => Some(Said::End(reason)),
            (None, Some(why)) if over => Some(Said::Failed(why.to_string())),
            (None, None) if over => Some(Said::Failed(SourceError::Cut.to_string())),
            (None, _) => None,
        };
        self.over = end.is_some();
        said.extend(end);
        said
    }
}
