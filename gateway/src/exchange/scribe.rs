//! Keeps the model's output for later use: the first reply of a model, and recordings.

use toolglot::source::{Item, Source};

/// Maximum number of bytes kept.
const MAX: usize = 4 << 20;

/// Reads alongside an engine.
pub struct Scribe {
    source: Box<dyn Source + Send>,
    pub text: String,
    /// Lengths of the pieces.
    pub cuts: Vec<usize>,
    /// It exceeded the limit.
    pub over: bool,
}

impl Scribe {
    pub fn new(source: Box<dyn Source + Send>) -> Self {
        Self {
            source,
            text: String::new(),
            cuts: vec![],
            over: false,
        }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let (text, cuts, over) = (&mut self.text, &mut self.cuts, &mut self.over);
        self.source.feed(bytes, &mut |item| {
            if let Item::Text(piece) = item {
                *over |= text.len() + piece.len() > MAX;
                if !*over {
                    text.push_str(piece);
                    cuts.push(piece.len());
                }
            }
        });
    }

    pub fn end(&mut self) {
        let (text, over) = (&mut self.text, &mut self.over);
        self.source.end(&mut |item| {
            if let Item::Text(piece) = item
                && !*over
            {
                text.push_str(piece);
            }
        });
    }
}
