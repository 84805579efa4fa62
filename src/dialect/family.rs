//! The grammars of a block's body, with the tables of their parsers.

use toolglot_scan::Case;

use super::bounds::{CLOSER_BLANKS, CLOSER_TWINS, LINE_BLANKS, PROBE_BLANKS};
use super::check;
use super::framed::{self, Framed};
use super::key_quote::KeyQuote;
use super::line::Line;
use super::marker::Begins;
use super::payload::JsonTable;
use super::spec::{self, Spec};
use crate::error::BuildError;
use crate::limits::Limits;

/// The grammar of a block's body, with its tables.
#[derive(Debug)]
pub(crate) enum Family {
    KeyQuote(Box<KeyQuote>),
    ElementTree(ElementTree),
    NamedParams(NamedParams),
    AttributeParams(AttributeParams),
    Framed(Box<Framed>),
    Line(Box<Line>),
    /// No calls: only reasoning or framing.
    Plain,
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
    /// For arguments as one object.
    pub json: JsonTable,
}

/// Tables of the attribute-params family.
#[derive(Debug)]
pub(crate) struct AttributeParams {
    pub spec: spec::AttributeParams,
    pub open: String,
    pub close: String,
    /// For arguments as one object.
    pub json: JsonTable,
}

impl Family {
    /// How ids around names begin and end.
    pub fn ids(&self) -> &[[String; 2]] {
        match self {
            Self::Framed(table) => &table.spec.ids,
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_)
            | Self::Plain => &[],
        }
    }

    /// The delimiters of strings beside quotes.
    pub fn delimiters(&self) -> &[String] {
        match self {
            Self::Framed(table) => &table.spec.braces.delimiters,
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_)
            | Self::Plain => &[],
        }
    }

    pub(super) fn new(spec: &Spec) -> Result<Self, BuildError> {
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
                json: JsonTable::arguments(),
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.attribute_params {
            return Ok(Self::AttributeParams(AttributeParams {
                open: format!("<{}", body.call),
                close: format!("</{}", body.call),
                json: JsonTable::arguments(),
                spec: body.clone(),
            }));
        }
        if let Some(body) = &spec.framed {
            let none: &[String] = &[];
            let starts = spec
                .channels
                .as_ref()
                .map_or(none, |channels| &channels.start);
            let ends = spec
                .channels
                .as_ref()
                .map_or(none, |channels| &channels.close);
            let turns = [&spec.framing, ends].concat();
            let body = Framed::new(body.clone(), starts, &turns)
                .map_err(|why| check::key(spec, "framed", &why))?;
            if body.openers.is_empty() && spec.channels.is_none() {
                return Err(check::key(spec, "framed", "nothing opens a block"));
            }
            return Ok(Self::Framed(Box::new(body)));
        }
        if let Some(body) = &spec.line {
            return Line::new(body.clone())
                .map(|body| Self::Line(Box::new(body)))
                .map_err(|why| check::key(spec, "line", &why));
        }
        Ok(Self::Plain)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::KeyQuote(_) => "key-quote",
            Self::ElementTree(_) => "element-tree",
            Self::NamedParams(_) => "named-params",
            Self::AttributeParams(_) => "attribute-params",
            Self::Framed(_) => "framed",
            Self::Line(_) => "line",
            Self::Plain => "plain",
        }
    }

    pub fn openers(&self) -> Vec<String> {
        match self {
            Self::KeyQuote(body) => body.spec.open.clone(),
            Self::ElementTree(body) => vec![body.spec.open.clone()],
            Self::NamedParams(body) => vec![body.open.clone()],
            Self::AttributeParams(body) => vec![body.open.clone()],
            Self::Framed(body) => body.openers.iter().map(|o| o.literal.clone()).collect(),
            Self::Line(body) => body.openers.iter().map(|(open, _)| open.clone()).collect(),
            Self::Plain => vec![],
        }
    }

    pub fn closers(&self) -> Vec<String> {
        match self {
            Self::KeyQuote(body) => body.spec.close.clone(),
            Self::ElementTree(body) => vec![body.spec.close.clone()],
            Self::NamedParams(body) => vec![body.close.clone()],
            Self::AttributeParams(body) => vec![body.close.clone()],
            Self::Framed(body) => body.closers.clone(),
            Self::Line(_) => vec!["\n".to_owned()],
            Self::Plain => vec![],
        }
    }

    /// The tables of a format of calls between markers.
    fn framed(&self) -> Option<&Framed> {
        match self {
            Self::Framed(body) => Some(body),
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_)
            | Self::Plain => None,
        }
    }

    /// Whether an opener is that of a call whose section's opener is missing.
    pub fn lacks_section(&self, begins: Begins) -> bool {
        let opener = self.framed().and_then(|body| begins.of(body));
        opener.is_some_and(|opener| opener.bare)
    }

    /// Whether an opener is a known slip.
    pub fn misspells(&self, opener: &str) -> bool {
        self.framed()
            .is_some_and(|body| body.spec.misspelt.iter().any(|slip| slip == opener))
    }

    /// Whether a marker closes sections.
    pub fn closes_section(&self, marker: &str) -> bool {
        let section = self.framed().and_then(|body| body.spec.section.as_ref());
        section.is_some_and(|section| section.close.iter().any(|close| close == marker))
    }

    /// Whether the bytes after an opener decide if it counts.
    pub fn probes(&self, opener: &str) -> bool {
        match self {
            // Fields look alike in all these dialects: they show that there is a block, but not whose.
            Self::KeyQuote(_) | Self::Plain => false,
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Line(_) => true,
            Self::Framed(body) => body.opener(opener).is_some_and(framed::Opener::probes),
        }
    }

    /// Whether the opener is a tag with attributes.
    pub fn tag_header(&self) -> bool {
        match self {
            Self::KeyQuote(_)
            | Self::ElementTree(_)
            | Self::Framed(_)
            | Self::Line(_)
            | Self::Plain => false,
            Self::NamedParams(_) | Self::AttributeParams(_) => true,
        }
    }

    /// Bytes that may follow a block marker and belong to it.
    pub fn extra(&self) -> &str {
        match self {
            Self::KeyQuote(body) => &body.spec.extra,
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Framed(_)
            | Self::Line(_)
            | Self::Plain => "",
        }
    }

    pub fn case(&self) -> Case {
        match self {
            Self::KeyQuote(body) => body.spec.case,
            Self::ElementTree(_)
            | Self::NamedParams(_)
            | Self::AttributeParams(_)
            | Self::Framed(_)
            | Self::Line(_)
            | Self::Plain => Case::Exact,
        }
    }

    /// The maximum number of bytes that a block of this family holds back: a lookahead, a name, or an incomplete tag.
    pub fn lookahead(&self, limits: &Limits) -> usize {
        let len = |list: &[String]| list.iter().map(String::len).max().unwrap_or(0);
        // Two ends of a tag, and an incomplete character.
        let edges = 8;
        let tag = (limits.max_header.max(limits.max_name)) as usize;
        // The lookahead after a tag without a name.
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
                    let ahead = limits.max_lookahead as usize + len(&body.spec.close);
                    // A whitespace character may have three bytes.
                    let line = limits.max_name as usize + 3 * LINE_BLANKS as usize + quotes;
                    ahead.max(line).max(len(&body.spec.open))
                }
                Self::ElementTree(body) => tag.max(PROBE_BLANKS as usize) + body.spec.open.len(),
                Self::NamedParams(body) => {
                    let close = body.param_close.len() + CLOSER_BLANKS as usize;
                    // The same closer may follow it.
                    let closers = close * (1 + usize::from(CLOSER_TWINS));
                    (tag + probe + body.open.len().max(body.param_open.len()))
                        .max(closers + body.spec.confirm as usize + body.close.len())
                }
                Self::AttributeParams(body) => {
                    (tag + probe + body.open.len()).max(body.spec.confirm as usize)
                }
                Self::Framed(body) => body.lookahead(tag),
                Self::Line(body) => body.lookahead(tag),
                Self::Plain => 0,
            }
    }
}
