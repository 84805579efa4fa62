use super::*;
use crate::dialect::DialectSet;

/// Whether a snapshot with this candidate of a built-in dialect is accepted.
fn fits(dialect: &str, begins: Begins, at: CandidateAt) -> bool {
    let set = DialectSet::builtin(dialect).expect("a built-in dialect");
    let candidate = Candidate {
        dialect: 0,
        begins,
        end: 1,
        loose: false,
        at,
    };
    candidate.fits(&set.inner, &set.inner.dialects[0])
}

const OPENER: Begins = Begins::Block(0);
const NONE: Begins = Begins::Block(u16::MAX);

#[test]
fn a_key_follows_the_name_in_an_opener() {
    let key = |from| CandidateAt::FirstKey {
        tool: Span::new(1, 6),
        from,
        quote: 0,
    };
    assert!(fits("cline-xml", OPENER, key(7)));
    assert!(fits("cline-xml", OPENER, key(6)));
    assert!(!fits("cline-xml", OPENER, key(5)));
    assert!(!fits("cline-xml", NONE, key(7)));
    assert!(!fits("cline-xml", Begins::Message, key(7)));
    assert!(!fits("vcp", OPENER, key(7)));
}

#[test]
fn a_mark_that_ends_a_thought_is_one_of_its_marks() {
    let words = |pattern| CandidateAt::Words { pattern };
    let thought = Begins::Thought(0);
    assert!(fits("cline-xml", thought, words(Some(0))));
    assert!(!fits("cline-xml", thought, words(Some(u16::MAX))));
    assert!(!fits(
        "cline-xml",
        Begins::Thought(u16::MAX),
        words(Some(0))
    ));
    assert!(!fits("cline-xml", OPENER, words(Some(0))));
    let quoted = |pattern, came| CandidateAt::Quoted {
        pattern,
        quote: 0,
        came,
    };
    let whole = quote_after(0).len();
    let whole = u8::try_from(whole).expect("a quotation mark is short");
    assert!(fits("cline-xml", thought, quoted(None, whole - 1)));
    assert!(!fits("cline-xml", thought, quoted(None, whole)));
    assert!(!fits("cline-xml", thought, quoted(Some(u16::MAX), 0)));
    assert!(!fits("cline-xml", OPENER, quoted(None, 0)));
    assert!(fits("cline-xml", thought, CandidateAt::Suffix));
    assert!(!fits("cline-xml", OPENER, CandidateAt::Suffix));
}

#[test]
fn only_dialects_with_messages_are_in_a_header() {
    let first = CandidateAt::First { have: 0 };
    assert!(fits("harmony", Begins::Message, first));
    assert!(!fits("hermes", Begins::Message, first));
}

#[test]
fn a_walk_belongs_to_the_tree_of_its_opener() {
    let walk = Walk::default();
    assert!(fits("cline-xml", OPENER, CandidateAt::Probe(walk)));
    assert!(!fits("cline-xml", NONE, CandidateAt::Probe(walk)));
    assert!(!fits("vcp", OPENER, CandidateAt::Probe(walk)));
    assert!(!fits("cline-xml", OPENER, CandidateAt::Own(walk)));
    assert!(!fits(
        "cline-xml",
        Begins::Mark(u16::MAX),
        CandidateAt::Own(walk)
    ));
    assert!(!fits(
        "cline-xml",
        Begins::Tag(u16::MAX),
        CandidateAt::Own(walk)
    ));
    assert!(!fits("cline-xml", OPENER, CandidateAt::Payload(walk)));
    assert!(!fits("cline-xml", OPENER, CandidateAt::Head(walk)));
}

#[test]
fn json_is_searched_only_where_it_must_show_a_call() {
    let json = CandidateAt::Json(Bare::new(1));
    assert!(fits("json-bare", OPENER, json));
    assert!(!fits("cline-xml", OPENER, json));
    assert!(!fits("vcp", OPENER, json));
}
