//! Where parameters stand in a stream, so that a violation can say so.

use toolglot::{Event, Sink, Span};

/// Where parameters stand in a stream. Feed it the events beside what else takes them.
///
/// Parameters whose name a dialect writes as it is are found; those of JSON bodies are not told one by one.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Name as written, and the bytes from it to the end of its value.
    params: Vec<(String, Span)>,
    open: Option<(String, u64)>,
}

impl Places {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The last parameter of a name in a range of bytes.
    #[must_use]
    pub fn find(&self, within: Span, name: &str) -> Option<Span> {
        let inside = |span: &Span| within.start <= span.start && span.end <= within.end;
        let mut params = self.params.iter().rev();
        let found = params.find(|(have, span)| have == name && inside(span));
        found.map(|(_, span)| *span)
    }
}

impl Sink for Places {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ParamOpen {
                name,
                depth: 0,
                span,
            } => self.open = Some((name.to_owned(), span.start)),
            Event::ParamClose { span } => {
                if let Some((name, start)) = self.open.take() {
                    self.params
                        .push((name, Span::new(start, span.end.max(start))));
                }
            }
            _ => {}
        }
    }
}
