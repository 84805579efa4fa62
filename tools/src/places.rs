//! Positions of parameters in a stream, for violations.

use toolglot::{Event, Sink, Span};

/// Positions of parameters in a stream. Feed it the events in parallel with other sinks.
///
/// It finds parameters whose names a dialect writes verbatim; those of JSON bodies are not reported individually.
///
/// ```
/// use toolglot::{DialectSet, Finish, Options, Parser, Span};
/// use toolglot_tools::Places;
///
/// let mut places = Places::new();
/// let mut parser = Parser::new(&DialectSet::defaults(), Options::default());
/// let reply = br#"<tool_call name="f"><param name="a">1</param></tool_call>"#;
/// parser.feed(reply, &mut places);
/// parser.finish(Finish::Stop, &mut places);
/// let place = places.find(Span::new(0, reply.len() as u64), "a");
/// assert!(place.is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The name as written, and the bytes from it to the end of its value.
    params: Vec<(String, Span)>,
    open: Option<(String, u64)>,
}

impl Places {
    /// No positions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the last parameter of that name in a range of bytes.
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
                ..
            } => self.open = Some((name.to_owned(), span.start)),
            Event::ParamClose { span, .. } => {
                if let Some((name, start)) = self.open.take() {
                    self.params
                        .push((name, Span::new(start, span.end.max(start))));
                }
            }
            _ => {}
        }
    }
}
