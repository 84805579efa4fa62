//! A response that is not streamed: its parts in their order.

use super::Told;
use super::pieces::{Piece, Why, beside, count};
use super::reader::Reader;
use toolglot::rewrite::Same;

/// Maximum bytes of white space that wait for text.
const WAITING: usize = 4096;

/// A part of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    Thought(String),
    /// An item of `/v1/responses`, a block of `/v1/messages` or the end of one that no reader knows.
    Other(serde_json::Value),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

/// The gathered response.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub parts: Vec<Part>,
    pub reason: Option<Why>,
    pub beside: Option<serde_json::Value>,
    pub failed: Option<(String, String)>,
}

impl Gathered {
    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Begin => {}
            Piece::Text(text) => match self.parts.last_mut() {
                Some(Part::Text(have)) => have.push_str(&text),
                Some(_) | None => self.parts.push(Part::Text(text)),
            },
            Piece::Thought(text) => match self.parts.last_mut() {
                Some(Part::Thought(have)) => have.push_str(&text),
                Some(_) | None => self.parts.push(Part::Thought(text)),
            },
            Piece::Call { id, name, .. } => self.parts.push(Part::Call {
                id,
                name,
                arguments: String::new(),
            }),
            Piece::Arguments { index, json } => {
                let mut calls = self.parts.iter_mut().filter_map(|part| match part {
                    Part::Call { arguments, .. } => Some(arguments),
                    Part::Text(_) | Part::Thought(_) | Part::Other(_) => None,
                });
                if let Some(arguments) = calls.nth(index as usize) {
                    arguments.push_str(&json);
                }
            }
            Piece::Other(event) => {
                let mut says = ["item", "content_block", "delta"]
                    .iter()
                    .map(|key| &event[*key]);
                if let Some(other) = says.find(|value| !value.is_null()) {
                    self.parts.push(Part::Other(other.clone()));
                }
            }
            Piece::End { reason, void, left } => {
                self.reason = Some(reason);
                self.beside = beside(&void, &left);
            }
            Piece::Failed { message, kind, .. } => self.failed = Some((message, kind)),
        }
    }

    /// Reads a whole body, in any pieces. Returns whether it means the same as the gathered response.
    pub fn read(
        reader: &mut Reader,
        body: &[&[u8]],
        told: &mut Told,
        mut spaces: Option<Spaces>,
    ) -> (Self, bool) {
        let mut all = Self::default();
        let mut pieces: Vec<Piece> = body.iter().flat_map(|part| reader.feed(part)).collect();
        pieces.extend(reader.finish());
        told.native = reader.native();
        for piece in pieces {
            count(&piece, told);
            let piece = match &mut spaces {
                Some(spaces) => spaces.piece(piece),
                None => Some(piece),
            };
            if let Some(piece) = piece {
                all.piece(piece);
            }
        }
        (all, reader.same() != Same::No)
    }

    /// All text.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Thought(_) | Part::Call { .. } | Part::Other(_) => None,
        });
        texts.collect()
    }

    /// All thoughts.
    pub fn thought(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Thought(text) => Some(text.as_str()),
            Part::Text(_) | Part::Call { .. } | Part::Other(_) => None,
        });
        texts.collect()
    }

    /// Id, name and arguments of each call.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call {
                id,
                name,
                arguments,
            } => Some((id.as_str(), name.as_str(), arguments.as_str())),
            Part::Text(_) | Part::Thought(_) | Part::Other(_) => None,
        })
    }
}

/// Holds back white space at the beginning of a block of text. Models write it between calls; a block of nothing else would say
/// nothing, and Anthropic's server refuses it in the next request.
#[derive(Default)]
pub struct Spaces {
    held: String,
    /// A block of text is open.
    open: bool,
}

impl Spaces {
    /// Returns the piece that is sent, if any.
    pub fn piece(&mut self, piece: Piece) -> Option<Piece> {
        match piece {
            Piece::Text(text) if !self.open => {
                self.held.push_str(&text);
                if self.held.trim().is_empty() && self.held.len() <= WAITING {
                    return None;
                }
                self.open = true;
                Some(Piece::Text(std::mem::take(&mut self.held)))
            }
            Piece::Begin | Piece::Text(_) => Some(piece),
            Piece::Thought(_)
            | Piece::Call { .. }
            | Piece::Arguments { .. }
            | Piece::Other(_)
            | Piece::End { .. }
            | Piece::Failed { .. } => {
                self.open = false;
                self.held.clear();
                Some(piece)
            }
        }
    }

    /// Whether some is held back.
    pub fn waits(&self) -> bool {
        !self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_alone_is_no_block() {
        let mut spaces = Spaces::default();
        let mut send = |text: &str| match spaces.piece(Piece::Text(text.to_owned())) {
            Some(Piece::Text(text)) => Some(text),
            Some(_) | None => None,
        };
        assert_eq!(send("\n"), None);
        assert_eq!(send(" a").as_deref(), Some("\n a"));
        assert_eq!(send("\n").as_deref(), Some("\n"));
        spaces.piece(Piece::Thought("b".to_owned()));
        assert!(spaces.piece(Piece::Text("\n".to_owned())).is_none());
        spaces.piece(Piece::Thought("b".to_owned()));
        assert!(spaces.piece(Piece::Text("\n".to_owned())).is_none() && spaces.waits());
    }
}
