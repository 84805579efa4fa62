//! Tables of the key-quote family: what ends a block, and what ends each kind of value in it.

use toolglot_scan::{Case, Dfa, Pattern, Scanner};

use super::spec;

/// Tables of the key-quote family.
#[derive(Debug)]
pub(crate) struct KeyQuote {
    pub spec: spec::KeyQuote,
    /// Closers (first) and openers of the block, and closers of values, outside values.
    pub marks: Dfa,
    /// How many of the patterns of `marks` are closers of the block.
    pub closers: usize,
    /// The quote of each pattern after the block's own.
    doubled: Vec<u16>,
    pub quotes: Vec<QuoteTable>,
}

/// Tables of one kind of quote.
#[derive(Debug)]
pub(crate) struct QuoteTable {
    pub scanner: Scanner,
    pub ends: Vec<QuoteEnd>,
    /// The bytes with which markers begin.
    pub firsts: Vec<u8>,
    /// The same without newlines, if a line may end the value: most lines are passed over without the automaton.
    pub but_newlines: Option<Scanner>,
}

/// What a marker inside an open value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuoteEnd {
    /// The value's own closer.
    Close,
    /// Another quote's closer: it counts at the end of a line.
    Loose,
    /// The block's closer, after that many bytes of framing newline: provisional.
    BlockClose { newline: u8 },
    /// A newline, if a line may end the value.
    Newline,
    /// The block's opener, which matters after a provisional closer.
    BlockOpen,
    /// A value's opener; `own` if it is that of this quote: doubled, or of a field that the value has swallowed.
    Open { own: bool },
}

impl KeyQuote {
    pub(super) fn new(spec: spec::KeyQuote) -> Result<Self, String> {
        let blocks = spec.close.iter().chain(&spec.open);
        let blocks = blocks.map(|m| Pattern::new(m, spec.case));
        // Closers of values may be doubled.
        let mut patterns: Vec<Pattern> = blocks.collect();
        let mut doubled = vec![];
        for (index, quote) in spec.quotes.iter().enumerate() {
            for close in &quote.close {
                patterns.push(Pattern {
                    hold: false,
                    ..Pattern::new(close, quote.case)
                });
                doubled.push(index as u16);
            }
        }
        let marks = Dfa::new(patterns)?;
        let quotes = spec
            .quotes
            .iter()
            .map(|quote| QuoteTable::new(&spec, quote))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            marks,
            closers: spec.close.len(),
            doubled,
            quotes,
            spec,
        })
    }

    /// The quote that a pattern of `marks` closes; `None` if the pattern belongs to the block.
    pub fn closes(&self, pattern: u16) -> Option<u16> {
        let blocks = self.closers + self.spec.open.len();
        let at = usize::from(pattern).checked_sub(blocks)?;
        self.doubled.get(at).copied()
    }
}

impl QuoteTable {
    fn new(spec: &spec::KeyQuote, quote: &spec::Quote) -> Result<Self, String> {
        let mut patterns = vec![];
        let mut ends = vec![];
        let mut add = |bytes: String, case: Case, hold: bool, end: QuoteEnd| {
            patterns.push(Pattern {
                bytes: bytes.into_bytes().into(),
                case,
                hold,
            });
            ends.push(end);
        };
        for close in &quote.close {
            add(close.clone(), quote.case, true, QuoteEnd::Close);
        }
        for close in &quote.loose_close {
            add(close.clone(), quote.case, true, QuoteEnd::Loose);
        }
        let ends_it =
            |open: &&String| quote.close.contains(open) || quote.loose_close.contains(open);
        for other in &spec.quotes {
            let own = other.open == quote.open;
            let minds = quote.minds(other);
            for open in other.open.iter().filter(|open| minds && !ends_it(open)) {
                add(open.clone(), other.case, true, QuoteEnd::Open { own });
            }
        }
        if !quote.protect {
            for close in &spec.close {
                for newline in ["", "\n", "\r\n"] {
                    let end = QuoteEnd::BlockClose {
                        newline: newline.len() as u8,
                    };
                    add(format!("{newline}{close}"), spec.case, true, end);
                }
            }
            for open in &spec.open {
                add(open.clone(), spec.case, false, QuoteEnd::BlockOpen);
            }
            if spec.key_line_ends_value {
                for newline in ["\r\n", "\n"] {
                    add(newline.to_owned(), Case::Exact, true, QuoteEnd::Newline);
                }
            }
        }
        let rest = patterns.iter().zip(&ends);
        let rest = rest.filter(|(_, end)| **end != QuoteEnd::Newline);
        let rest: Vec<Pattern> = rest.map(|(pattern, _)| pattern.clone()).collect();
        let lines = rest.len() < patterns.len();
        let begins = |byte: &u8| patterns.iter().any(|p: &Pattern| p.accepts(0, *byte));
        Ok(Self {
            firsts: (0..=255).filter(begins).collect(),
            but_newlines: lines.then(|| Scanner::new(rest)).transpose()?,
            scanner: Scanner::new(patterns)?,
            ends,
        })
    }
}
