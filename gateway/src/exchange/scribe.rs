//! Keeps the model's output for later use: the first reply of a model, and recordings.

use toolglot::Finish;
use toolglot::source::{Item, Source};

/// Maximum number of bytes kept.
const MAX: usize = 4 << 20;

/// Reads alongside an engine.
pub struct Scribe {
    source: Box<dyn Source + Send>,
    pub said: Said,
}

/// The output of a model.
#[derive(Clone, Debug)]
pub struct Said {
    pub text: String,
    /// Lengths of the pieces.
    pub cuts: Vec<usize>,
    /// It exceeded the limit.
    pub over: bool,
    /// How the response ended.
    pub finish: Finish,
}

impl Scribe {
    pub fn new(source: Box<dyn Source + Send>) -> Self {
        let said = Said {
            text: String::new(),
            cuts: vec![],
            over: false,
            finish: Finish::Error,
        };
        Self { source, said }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let said = &mut self.said;
        self.source.feed(bytes, &mut |item| said.item(&item));
    }

    pub fn end(&mut self) {
        let said = &mut self.said;
        self.source.end(&mut |item| said.item(&item));
    }
}

impl Said {
    fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Text(piece) => {
                self.over |= self.text.len() + piece.len() > MAX;
                if !self.over {
                    self.text.push_str(piece);
                    self.cuts.push(piece.len());
                }
            }
            Item::Finish(finish) => self.finish = *finish,
            _ => {}
        }
    }
}
