//! A reply in progress: its turn, and the events of its calls.

use toolglot::{Call, Collect, Event, Sink};

/// An event of text or of a call.
#[derive(Debug)]
pub enum Note {
    Text(String),
    Reasoning(String),
    Named {
        name: String,
        provisional: bool,
    },
    Written {
        name: String,
    },
    Retracted {
        name: String,
    },
    /// The next call of the turn is committed; `block` is the number of its block, if it is in one.
    Stands {
        call: Call,
        block: Option<u32>,
    },
}

/// Collects the turn and the notes of a reply.
#[derive(Debug, Default)]
pub struct Watch {
    pub turn: Collect,
    pub notes: Vec<Note>,
    /// Number of calls before the open block.
    open: Option<usize>,
    blocks: u32,
    /// Number of calls that were noted as committed.
    pub stood: usize,
}

impl Watch {
    pub fn new() -> Self {
        Self {
            turn: Collect::new().keep_original(),
            ..Self::default()
        }
    }

    fn stand(&mut self, block: Option<u32>) {
        let calls = self.turn.calls().get(self.stood..).unwrap_or_default();
        self.notes.extend(calls.iter().map(|call| Note::Stands {
            call: call.clone(),
            block,
        }));
        self.stood = self.turn.calls().len();
    }
}

impl Sink for Watch {
    fn event(&mut self, event: Event<'_>) {
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        let before = self.turn.calls().len();
        match event {
            Event::Text { data, .. } => self.notes.push(Note::Text(text(data))),
            Event::Reasoning {
                data,
                framing: false,
                ..
            } => self.notes.push(Note::Reasoning(text(data))),
            Event::CallNamed {
                name, provisional, ..
            } => self.notes.push(Note::Named {
                name: name.to_owned(),
                provisional,
            }),
            Event::BlockOpen { .. } => {
                self.open = Some(before);
                self.blocks += 1;
            }
            Event::BlockAbandoned { .. } => {
                let from = self.open.take().unwrap_or(before);
                let calls = self.turn.calls().get(from..).unwrap_or_default();
                self.notes.extend(calls.iter().map(|call| Note::Retracted {
                    name: call.name.clone(),
                }));
            }
            _ => {}
        }
        let closed = matches!(event, Event::BlockClose { .. });
        self.turn.event(event);
        if let Some(call) = self.turn.calls().get(before) {
            self.notes.push(Note::Written {
                name: call.name.clone(),
            });
        }
        if closed {
            self.open = None;
            self.stand(Some(self.blocks));
        } else if self.open.is_none() {
            self.stand(None);
        }
    }
}
