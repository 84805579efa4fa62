//! From a dialect file to the tables that the engine runs on.

use std::sync::{Arc, OnceLock};

use crate::body::{LINE_BLANKS, MAX_TAIL, PROBE_BLANKS};
use crate::error::BuildError;
use crate::escape::{EscapeError, Table};
use crate::limits::Limits;
use crate::scan::{Dfa, Pattern, Scanner};

use super::spec::{self, Case, Spec};
use super::{Dialect, check};

/// The grammar of a block's body, with its tables.
#[derive(Debug)]
pub(crate) enum Family {
    KeyQuote(Box<KeyQuote>),
    ElementTree(ElementTree),
    NamedParams(NamedParams),
    AttributeParams(AttributeParams),
}

/// Tables of the key-quote family.
#[derive(Debug)]
pub(crate) struct KeyQuote {
    pub spec: spec::KeyQuote,
    /// Closers (first) and openers of the block, outside values.
    pub marks: Dfa,
    /// How many of the patterns of `marks` are closers.
    pub closers: usize,
    pub quotes: Vec<QuoteTable>,
}

/// Tables of one way to enclose a value.
#[derive(Debug)]
pub(crate) struct QuoteTable {
    pub scanner: Scanner,
    pub ends: Vec<QuoteEnd>,
}

/// What a marker inside an open value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuoteEnd {
    /// The value's own closer.
    Close,
    /// Another quote's closer: it counts at the end of a line.
    Loose,
    /// The block's closer, behind so many bytes of framing newline: provisional.
    BlockClose { newline: u8 },
    /// A newline, where a line may end the value.
    Newline,
    /// The block's opener, which matters behind a provisional closer.
    BlockOpen,
}

/// Tables of the element-tree family.
#[derive(Debug)]
pub(crate) struct ElementTree {
    pub spec: spec::ElementTree,
    /// The name inside the block's tags.
    pub tag: String,
}

/// Tables of the named-params family.
#[derive(Debug)]
pub(crate) struct NamedParams {
    pub spec: spec::NamedParams,
    pub open: String,
    pub close: String,
    pub param_open: String,
    pub param_close: String,
}

/// Tables of the attribute-params family.
#[derive(Debug)]
pub(crate) struct AttributeParams {
    pub spec: spec::AttributeParams,
    pub open: String,
    pub close: String,
}

impl Family {
    fn new(spec: &Spec) -> Result<Self, BuildError> {
        let fail = |why: String| check::key(spec, "open", &why);
        if let Some(body) = &spec.key_quote {
            return KeyQuote::new(body.clone())
                .map(|body| Self::KeyQuote(Box::new(body)))
                .map_err(fail);
        }
        if let Some(body) = &spec.element_tree {
            let tag = body.open.trim_matches(['<', '>']).to_owned();
            return Ok(Self::ElementTree(ElementTree {
                tag,
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.named_params {
            return Ok(Self::NamedParams(NamedParams {
                open: format!("<{}", body.call),
                close: format!("</{}", body.call),
                param_open: format!("<{}", body.param),
                param_close: format!("</{}", body.param),
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.attribute_params {
            return Ok(Self::AttributeParams(AttributeParams {
                open: format!("<{}", body.call),
                close: format!("</{}", body.call),
                spec: body.clone(),
            }));
        }
        Err(check::no_family(spec))
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::KeyQuote(_) => "key-quote",
            Self::ElementTree(_) => "element-tree",
            Self::NamedParams(_) => "named-params",
            Self::AttributeParams(_) => "attribute-params",
        }
    }

    pub fn openers(&self) -> Vec<String> {
        match self {
            Self::KeyQuote(body) => body.spec.open.clone(),
            Self::ElementTree(body) => vec![body.spec.open.clone()],
            Self::NamedParams(body) => vec![body.open.clone()],
            Self::AttributeParams(body) => vec![body.open.clone()],
        }
    }

    pub fn closers(&self) -> Vec<String> {
        match self {
            Self::KeyQuote(body) => body.spec.close.clone(),
            Self::ElementTree(body) => vec![body.spec.close.clone()],
            Self::NamedParams(body) => vec![body.close.clone()],
            Self::AttributeParams(body) => vec![body.close.clone()],
        }
    }

    /// Whether the opener is a tag with attributes.
    pub fn tag_header(&self) -> bool {
        match self {
            Self::KeyQuote(_) | Self::ElementTree(_) => false,
            Self::NamedParams(_) | Self::AttributeParams(_) => true,
        }
    }

    /// Bytes that may follow a block marker and belong to it.
    pub fn extra(&self) -> &str {
        match self {
            Self::KeyQuote(body) => &body.spec.extra,
            Self::ElementTree(_) | Self::NamedParams(_) | Self::AttributeParams(_) => "",
        }
    }

    pub fn case(&self) -> Case {
        match self {
            Self::KeyQuote(body) => body.spec.case,
            Self::ElementTree(_) | Self::NamedParams(_) | Self::AttributeParams(_) => Case::Exact,
        }
    }

    /// The most bytes that a block of this family withholds: a lookahead, a name, or a tag that is not complete.
    pub fn lookahead(&self, limits: &Limits) -> usize {
        let len = |list: &[String]| list.iter().map(String::len).max().unwrap_or(0);
        // Two ends of a tag, and a character that is cut.
        let edges = 8;
        let tag = (limits.max_header.max(limits.max_name)) as usize;
        // What is looked at behind a tag without a name.
        let probe = PROBE_BLANKS as usize + check::MAX_NAMELESS;
        edges
            + match self {
                Self::KeyQuote(body) => {
                    let quotes = body
                        .spec
                        .quotes
                        .iter()
                        .map(|q| len(&q.open).max(len(&q.close)))
                        .max()
                        .unwrap_or(0);
                    let ahead = body.spec.lookahead.min(limits.max_lookahead) as usize
                        + len(&body.spec.close);
                    // A character may be a blank of three bytes.
                    let line = limits.max_name as usize + 3 * LINE_BLANKS as usize + quotes;
                    ahead.max(line).max(len(&body.spec.open))
                }
                Self::ElementTree(body) => tag.max(PROBE_BLANKS as usize) + body.spec.open.len(),
                Self::NamedParams(body) => {
                    let close = body.param_close.len() + MAX_TAIL as usize;
                    (tag + probe + body.open.len().max(body.param_open.len()))
                        .max(close + body.spec.confirm as usize + body.close.len())
                }
                Self::AttributeParams(body) => {
                    (tag + probe + body.open.len()).max(body.spec.confirm as usize)
                }
            }
    }
}

impl KeyQuote {
    fn new(spec: spec::KeyQuote) -> Result<Self, String> {
        let marks = spec.close.iter().chain(&spec.open);
        let marks = Dfa::new(marks.map(|m| Pattern::new(m, spec.case)).collect())?;
        let quotes = spec
            .quotes
            .iter()
            .map(|quote| QuoteTable::new(&spec, quote))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            marks,
            closers: spec.close.len(),
            quotes,
            spec,
        })
    }
}

impl QuoteTable {
    fn new(spec: &spec::KeyQuote, quote: &spec::Quote) -> Result<Self, String> {
        let mut patterns = vec![];
        let mut ends = vec![];
        let mut add = |bytes: String, case: Case, hold: bool, end: QuoteEnd| {
            patterns.push(Pattern {
                bytes: bytes.into_bytes(),
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
        Ok(Self {
            scanner: Scanner::new(patterns)?,
            ends,
        })
    }
}

/// What a marker in plain text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Open {
        dialect: u16,
    },
    Reasoning {
        id: u16,
    },
    Span {
        id: u16,
    },
    /// A closer without its block. Never held back.
    Close {
        dialect: u16,
    },
}

/// Reasoning markers of one dialect.
#[derive(Debug)]
pub(crate) struct Reasoning {
    pub dialect: u16,
    pub spec: spec::Reasoning,
    /// Inside: the closer (pattern 0), then the opener if it nests.
    pub inside: Scanner,
    /// The same, then all call openers.
    pub inside_with_calls: Scanner,
    /// What the patterns of `inside_with_calls` from the first opener on mean.
    pub calls: Vec<Role>,
}

/// A protected region of one dialect.
#[derive(Debug)]
pub(crate) struct SpanMarks {
    pub dialect: u16,
    pub spec: spec::SpanSpec,
    pub inside: Scanner,
}

/// A compiled set.
#[derive(Debug)]
pub(crate) struct SetInner {
    pub dialects: Vec<Dialect>,
    pub text: Scanner,
    /// Per pattern of `text`.
    pub roles: Vec<Role>,
    pub reasoning: Vec<Reasoning>,
    pub spans: Vec<SpanMarks>,
    /// Some dialect does not look into code.
    pub code: bool,
    pub fingerprint: u64,
    /// What escaping needs, compiled when it is first asked for.
    pub escapes: OnceLock<Result<Arc<Table>, EscapeError>>,
}

impl SetInner {
    pub fn new(specs: Vec<Spec>, fingerprint: u64) -> Result<Self, BuildError> {
        let mut dialects = vec![];
        for spec in specs {
            check::dialect(&spec)?;
            let family = Family::new(&spec)?;
            let closers = family
                .closers()
                .iter()
                .map(|close| Pattern::new(close, family.case()))
                .collect();
            let closer = Dfa::new(closers).map_err(|why| check::key(&spec, "close", &why))?;
            dialects.push(Dialect {
                family,
                closer,
                spec,
            });
        }
        check::set(&dialects)?;
        let too_big = |why: String| check::key(&dialects[0].spec, "open", &why);
        let mut patterns: Vec<Pattern> = vec![];
        let mut roles = vec![];
        let mut calls: Vec<(Pattern, Role)> = vec![];
        let mut reasoning = vec![];
        let mut spans = vec![];
        for (index, dialect) in dialects.iter().enumerate() {
            let index = index as u16;
            for open in dialect.family.openers() {
                calls.push((
                    Pattern::new(open, dialect.family.case()),
                    Role::Open { dialect: index },
                ));
            }
        }
        for (pattern, role) in &calls {
            patterns.push(pattern.clone());
            roles.push(*role);
        }
        for (index, dialect) in dialects.iter().enumerate() {
            let index = index as u16;
            for spec in &dialect.spec.reasoning {
                // Dialects may share reasoning markers; the first one's serve.
                if reasoning
                    .iter()
                    .any(|have: &Reasoning| have.spec.open == spec.open)
                {
                    continue;
                }
                roles.push(Role::Reasoning {
                    id: reasoning.len() as u16,
                });
                patterns.push(Pattern::new(&spec.open, Case::Exact));
                let mut inside = vec![Pattern::new(&spec.close, Case::Exact)];
                if spec.nested {
                    inside.push(Pattern::new(&spec.open, Case::Exact));
                }
                let with_calls = inside
                    .iter()
                    .cloned()
                    .chain(calls.iter().map(|(p, _)| p.clone()))
                    .collect();
                reasoning.push(Reasoning {
                    dialect: index,
                    spec: spec.clone(),
                    inside: Scanner::new(inside).map_err(too_big)?,
                    inside_with_calls: Scanner::new(with_calls).map_err(too_big)?,
                    calls: calls.iter().map(|(_, role)| *role).collect(),
                });
            }
            for spec in &dialect.spec.span {
                roles.push(Role::Span {
                    id: spans.len() as u16,
                });
                patterns.push(Pattern::new(&spec.open, Case::Exact));
                let inside = Scanner::new(vec![Pattern {
                    hold: false,
                    ..Pattern::new(&spec.close, Case::Exact)
                }]);
                spans.push(SpanMarks {
                    dialect: index,
                    spec: spec.clone(),
                    inside: inside.map_err(too_big)?,
                });
            }
            for close in dialect.family.closers() {
                roles.push(Role::Close { dialect: index });
                let close = if dialect.family.tag_header() {
                    format!("{close}>")
                } else {
                    close
                };
                patterns.push(Pattern {
                    hold: false,
                    ..Pattern::new(close, dialect.family.case())
                });
            }
        }
        let text = Scanner::new(patterns).map_err(too_big)?;
        let code = dialects
            .iter()
            .any(|d| d.spec.fence == crate::limits::Fence::Skip);
        Ok(Self {
            text,
            roles,
            reasoning,
            spans,
            code,
            fingerprint,
            escapes: OnceLock::new(),
            dialects,
        })
    }

    /// Every marker that text is looked through for, and what ends regions and blocks; some of them more than once.
    pub fn markers(&self) -> impl Iterator<Item = &Pattern> {
        let reasoning = self.reasoning.iter().map(|r| &r.inside.dfa);
        let spans = self.spans.iter().map(|s| &s.inside.dfa);
        let closers = self.dialects.iter().map(|d| &d.closer);
        let all = std::iter::once(&self.text.dfa).chain(reasoning);
        all.chain(spans).chain(closers).flat_map(Dfa::patterns)
    }

    /// The longest beginning of a marker that plain text withholds.
    pub fn marker(&self) -> usize {
        self.text.dfa.max_len().saturating_sub(1)
    }

    /// The most bytes that are ever withheld: the longest marker less one, or the longest lookahead.
    pub fn bound(&self, limits: &Limits) -> usize {
        let ahead = self
            .dialects
            .iter()
            .map(|dialect| dialect.lookahead(limits))
            .max()
            .unwrap_or(0);
        self.marker().max(ahead)
    }
}
