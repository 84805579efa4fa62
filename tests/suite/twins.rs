//! Compares the engine with parsers that were written from the specification alone: slow, over whole strings, and without
//! shared code.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};

use toolglot::json::Value;
use toolglot::{DialectSet, Finish, Kind, Options, Severity, Tools, Turn, parse};

use crate::naive::{self, Outcome, framed, generate};
use crate::support::{CASES, VECTORS, some};

/// Random inputs per dialect.
const SAMPLES: u64 = 20_000;

/// The same for each of the dialects that one generic twin reads.
const SECONDS: u64 = 1000;

/// Kinds that do not affect the meaning of a block. How often one mistake is reported is not compared.
const BESIDE: [&str; 7] = [
    // A grade, which the twins do not determine.
    "open_string",
    "provisional_close",
    "bare_markup",
    "duplicate_param",
    "orphan_close",
    "type_mismatch",
    "unknown_entity",
];

/// Whether the input has a form that the twins of the documents' protocols do not support: a comment or CDATA that contains
/// its own opener, a field in a value, a closer with blanks of an opener that is text.
fn doubles(input: &str, ours: &Turn) -> bool {
    let twice = |marker: &str| input.matches(marker).count() > 1;
    let kind = |kind| ours.issues.iter().any(|issue| issue.kind == kind);
    let spaced = input.contains("</ ACTION") || input.contains("</ACTION ");
    (twice("<!--") && kind(Kind::MalformedXml))
        || (twice("<![CDATA[") || input.contains('「')) && kind(Kind::BareMarkup)
        || input.contains('»') && kind(Kind::BareMarkup)
        || spaced
}

/// Returns whether the two were compared.
fn compare(place: &str, input: &str, ours: Turn, theirs: Outcome) -> bool {
    if slipped(&ours) || theirs.open || doubles(input, &ours) {
        return false;
    }
    let arguments =
        |text: &str| toolglot_testkit::vectors::value(text).expect("arguments are JSON");
    let calls: Vec<(String, Value)> = ours
        .calls
        .iter()
        .map(|c| (c.name.clone(), arguments(&c.arguments)))
        .collect();
    let kinds = |only: Option<Severity>| -> BTreeSet<String> {
        let reports = ours
            .issues
            .iter()
            .filter(|report| only.is_none_or(|severity| report.severity == severity))
            // An orphaned closer of `<ACTION>`, compared as little as others. In a block it is a warning.
            .filter(|report| {
                let orphan = (Kind::MalformedXml, Severity::Error);
                !place.starts_with("action") || (report.kind, report.severity) != orphan
            });
        reports
            .map(|report| report.kind.name().to_owned())
            .collect()
    };
    // A string that is open already says what an open block would.
    let string = ours
        .issues
        .iter()
        .any(|issue| issue.kind == Kind::OpenString);
    let known = |kinds: BTreeSet<String>| -> BTreeSet<String> {
        let kinds = kinds.into_iter();
        kinds
            .filter(|kind| !string || kind != Kind::NestedOpen.name())
            .collect()
    };
    let main = |kinds: &BTreeSet<String>| -> BTreeSet<String> {
        let kinds = kinds.iter().filter(|kind| !BESIDE.contains(&kind.as_str()));
        known(kinds.cloned().collect())
    };
    assert_eq!(ours.text, theirs.text, "text of {place}: {input:?}");
    assert_eq!(
        ours.reasoning, theirs.reasoning,
        "reasoning of {place}: {input:?}"
    );
    assert_eq!(calls, theirs.calls, "calls of {place}: {input:?}");
    assert_eq!(
        main(&kinds(None)),
        main(&theirs.kinds),
        "kinds of {place}: {input:?}"
    );
    assert_eq!(
        known(kinds(Some(Severity::Error))),
        known(theirs.severe),
        "errors of {place}: {input:?}"
    );
    true
}

#[test]
fn they_agree_on_every_vector() {
    let mut compared = 0;
    for (vector, case) in VECTORS.iter().zip(CASES.iter()) {
        let salvage = vector
            .options
            .get("unclosed")
            .is_some_and(|word| word == "salvage");
        let knows = |key: &str| !["retain", "prefer", "text"].contains(&key) && !salvage;
        let plain = vector.options.keys().all(|key| knows(key)) && case.native.is_empty();
        let Ok(input) = std::str::from_utf8(case.input) else {
            continue;
        };
        if plain && !resolves(vector.tools.as_ref()) && naive::KNOWN.contains(&case.dialect) {
            let ours = parse(&case.set, case.options.clone(), case.input, Finish::Stop);
            let options = Value::Object(vector.options.clone());
            let theirs =
                naive::run_with(case.dialect, input, vector.tools.as_ref(), Some(&options));
            compare(case.id, input, ours, theirs);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} vectors");
}

/// Whether a schema asks for more than its types say. Twins ignore that; tests of `src/hints` and `src/schema` cover it,
/// and so does the JSON Schema Test Suite.
fn resolves(tools: Option<&Value>) -> bool {
    let words = [
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "enum",
        "const",
        "additionalProperties",
    ];
    let text = tools.map(ToString::to_string).unwrap_or_default();
    words
        .iter()
        .any(|word| text.contains(&format!("\"{word}\":")))
}

/// The description of a dialect, as its twin reads it.
enum Second {
    Framed(Box<framed::Spec>),
    Line(Box<framed::line::Line>),
}

impl Second {
    fn read(&self, input: &str, tools: Option<&Value>) -> framed::Outcome {
        match self {
            Self::Framed(spec) => framed::read(spec, input, tools),
            Self::Line(line) => framed::line::read(line, input, tools),
        }
    }

    fn has_calls(&self) -> bool {
        match self {
            Self::Framed(spec) => !spec.units.is_empty(),
            Self::Line(_) => true,
        }
    }

    fn sample(&self, seed: u64) -> String {
        match self {
            Self::Framed(spec) => framed::generate::sample(spec, seed),
            Self::Line(line) => framed::line::sample(line, seed),
        }
    }
}

/// Dialects of the families framed and line that have a twin, with the twin.
fn seconds() -> Vec<(&'static str, Second)> {
    let second = |text: &str| {
        let framed = framed::Spec::new(text).map(|spec| Second::Framed(Box::new(spec)));
        framed.or_else(|| framed::line::Line::new(text).map(|line| Second::Line(Box::new(line))))
    };
    let files = toolglot::builtin_files().iter();
    files
        .filter_map(|(id, text)| Some((*id, second(text)?)))
        .collect()
}

/// Slips that the engine repairs, while a twin follows the rules.
const SLIPS: [Kind; 18] = [
    Kind::AttributeArguments,
    Kind::BareQuote,
    Kind::ExtraKey,
    Kind::LoneSurrogate,
    Kind::RepairedArguments,
    Kind::RepairedCloseTag,
    Kind::RepairedComma,
    Kind::RepairedEscape,
    Kind::RepairedKey,
    Kind::RepairedLiteral,
    Kind::RepairedMarker,
    Kind::RepairedNewline,
    Kind::RepairedNumber,
    Kind::RepairedPunctuation,
    Kind::RepairedQuotes,
    Kind::RepairedSpace,
    Kind::RepeatedMarker,
    Kind::RepeatedParam,
];

/// Vectors of forms that the twins do not support: self-closing tags, closers of openers that are text, definitions and links
/// that look like calls, an object after an action's header, closers without a suffix, code and quotations in thoughts, values that run
/// over the end of their call, words between parameters.
const SHORT: [&str; 42] = [
    "closes-itself",
    "parameter-closes-itself",
    "pair-en",
    "pair-zh",
    "definition-en",
    "definition-zh",
    "input-after-action-en",
    "input-after-action-zh",
    "section-closer-without-suffix-en",
    "closers-without-suffix-en",
    "call-in-tildes-in-thought-en",
    "tokens-in-tildes-en",
    "mention-then-call-en",
    "made-up-result-en",
    "made-up-result-zh",
    "truncated-header-in-thought-zh",
    "quoted-call-in-thought-en",
    "quoted-call-in-thought-zh",
    "call-in-code-in-thought-en",
    "call-in-code-in-thought-zh",
    "call-in-backticks-in-thought-zh",
    "quoted-final-in-thought-en",
    "quoted-closer-in-thought-zh",
    "quoted-closer-en",
    "quoted-closer-zh",
    "quoted-closer-with-suffix-en",
    "closer-in-backticks-en",
    "closer-in-backticks-zh",
    "closer-before-quote-en",
    "closer-after-quotation-zh",
    "quoted-rest-of-header-en",
    "call-in-a-quoted-wrapper-in-a-thought",
    "value-unclosed-before-a-token-en",
    "value-unclosed-before-two-tokens-zh",
    "tokens-in-thought-en",
    "bare-start-in-thought-zh",
    "value-runs-over-en",
    "value-runs-over-zh",
    "word-after-parameter-en",
    "word-before-call-closer-en",
    "stray-bracket-after-parameter-en",
    "name-with-a-slash-first-en",
];

fn slipped(turn: &Turn) -> bool {
    let mut errors = turn.issues.iter();
    errors.any(|report| SLIPS.contains(&report.kind))
}

/// Compares text, reasoning and calls. Issues are not compared: the engine reports repairs that a twin need not know.
fn compare_meaning(place: &str, input: &str, ours: &Turn, theirs: &framed::Outcome) {
    let arguments =
        |text: &str| toolglot_testkit::vectors::value(text).expect("arguments are JSON");
    let calls: Vec<(String, Value)> = ours
        .calls
        .iter()
        .map(|c| (c.name.clone(), arguments(&c.arguments)))
        .collect();
    assert_eq!(ours.text, theirs.text, "text of {place}: {input:?}");
    assert_eq!(
        ours.reasoning, theirs.reasoning,
        "reasoning of {place}: {input:?}"
    );
    assert_eq!(calls, theirs.calls, "calls of {place}: {input:?}");
}

#[test]
fn framed_and_line_agree_on_every_vector() {
    let twins = seconds();
    assert!(twins.len() > 50, "{} twins", twins.len());
    // Left out: what the rules of a twin leave open.
    let (mut compared, mut left) = (0, 0);
    for (vector, case) in VECTORS.iter().zip(CASES.iter()) {
        let Some((_, twin)) = twins.iter().find(|(id, _)| *id == case.dialect) else {
            continue;
        };
        // Options and API tool calls are features of the engine; a twin reads text.
        let input = std::str::from_utf8(case.input).ok();
        let plain = vector.options.is_empty() && case.native.is_empty();
        let form = case.id.rsplit('/').next().unwrap_or_default();
        let prompts = form.starts_with("reply-begins");
        let other = prompts || SHORT.contains(&form) || form.starts_with("link");
        if other || resolves(vector.tools.as_ref()) {
            continue;
        }
        let Some(input) = input.filter(|_| plain) else {
            continue;
        };
        let ours = parse(&case.set, case.options.clone(), case.input, Finish::Stop);
        if slipped(&ours) {
            continue;
        }
        let theirs = twin.read(input, vector.tools.as_ref());
        if theirs.open {
            left += 1;
            continue;
        }
        compare_meaning(case.id, input, &ours, &theirs);
        compared += 1;
    }
    assert!(
        compared > 300 && left * 3 < compared,
        "{compared} vectors, {left} left out"
    );
}

/// Compares a dialect on one random input. Returns the number of its calls and whether its meaning was compared, or `None`
/// where the twin leaves it open.
fn compare_one(place: &str, set: &DialectSet, twin: &Second, seed: u64) -> Option<(usize, bool)> {
    static OFFER: LazyLock<(Value, Arc<Tools>)> = LazyLock::new(|| {
        let tools = framed::generate::TOOLS;
        let offer = Tools::from_json(tools).expect("tools");
        (serde_json::from_str(tools).expect("JSON"), Arc::new(offer))
    });
    let (tools, offer) = &*OFFER;
    let input = twin.sample(seed);
    let offered = seed % 2 == 1;
    let theirs = twin.read(&input, Some(tools).filter(|_| offered));
    if theirs.open {
        return None;
    }
    let mut options = Options::default();
    options.tools = offered.then(|| Arc::clone(offer));
    let ours = parse(set, options, input.as_bytes(), Finish::Stop);
    let compared = !slipped(&ours);
    if compared {
        compare_meaning(&format!("{place}, seed {seed}"), &input, &ours, &theirs);
    }
    Some((ours.calls.len(), compared))
}

/// Compares a dialect on random inputs.
fn compare_random(id: &str, set: &DialectSet, twin: &Second, count: u64) {
    let (mut calls, mut left) = (0, 0);
    for seed in 0..count {
        match compare_one(id, set, twin, seed) {
            Some((some, _)) => calls += some as u64,
            None => left += 1,
        }
    }
    // Broken inputs are left out; `broken` and the vectors cover them.
    assert!(left * 4 < count * 3, "{id}: {left} inputs left out");
    assert!(
        !twin.has_calls() || calls > count / 20,
        "{id}: only {calls} calls"
    );
}

#[test]
fn framed_and_line_agree_on_random_inputs() {
    for (id, twin) in seconds() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        compare_random(id, &set, &twin, some(SECONDS));
    }
}

/// Reads the random inputs of `seeds`; prints how many were compared and which differ, as a line of JSON. The same seed is
/// the same input in every run.
fn hunt_in(id: &str, seeds: Range<u64>, one: impl Fn(u64) -> bool) -> Vec<u64> {
    let (mut compared, mut differ) = (0_u64, vec![]);
    for seed in seeds.clone() {
        match std::panic::catch_unwind(AssertUnwindSafe(|| one(seed))) {
            Ok(was) => compared += u64::from(was),
            Err(_) => differ.push(seed),
        }
    }
    let Range { start, end } = seeds;
    println!(
        r#"{{"twins": "{id}", "from": {start}, "to": {end}, "compared": {compared}, "differ": {differ:?}}}"#
    );
    differ
}

/// A long run for the dialects in `TWINS`, or for all, of `SEEDS` inputs from the seed `SEED` on: `TWINS=harmony,muse SEED=20000 cargo test
/// -p toolglot-suite -- --ignored --nocapture twins::hunt`. Lists the seeds that differ per dialect.
#[test]
#[ignore = "takes minutes"]
fn hunt() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let only = std::env::var("TWINS").unwrap_or_default();
    let wanted = |id: &str| only.is_empty() || only.split(',').any(|name| name == id);
    let from = number("SEED", 0);
    let seeds = from..from + number("SEEDS", 5 * SECONDS);
    let mut differ = vec![];
    for (id, twin) in seconds() {
        if wanted(id) {
            let set = DialectSet::builtin(id).expect("a built-in dialect");
            let one = |seed| compare_one(id, &set, &twin, seed).is_some_and(|(_, was)| was);
            differ.push((id, hunt_in(id, seeds.clone(), one)));
        }
    }
    for id in naive::KNOWN.into_iter().filter(|id| wanted(id)) {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let one = |seed| compare_sample(id, &set, seed).1;
        differ.push((id, hunt_in(id, seeds.clone(), one)));
    }
    differ.retain(|(_, seeds)| !seeds.is_empty());
    assert!(differ.is_empty(), "{differ:?} differ");
}

/// Compares a dialect of another family on one random input. Returns whether the twin leaves its meaning open, and whether it
/// was compared.
fn compare_sample(id: &str, set: &DialectSet, seed: u64) -> (bool, bool) {
    let input = generate::sample(id, seed);
    let ours = parse(set, Options::default(), input.as_bytes(), Finish::Stop);
    let theirs = naive::run(id, &input, None);
    let open = theirs.open;
    (
        open,
        compare(&format!("{id}, seed {seed}"), &input, ours, theirs),
    )
}

#[test]
fn they_agree_on_random_inputs() {
    for dialect in naive::KNOWN {
        let set = DialectSet::builtin(dialect).expect("a built-in dialect");
        let mut left = 0;
        for seed in 0..some(SAMPLES) {
            let (open, _) = compare_sample(dialect, &set, seed);
            left += u64::from(open);
        }
        assert!(
            left * 10 < some(SAMPLES),
            "{dialect}: {left} inputs left out"
        );
    }
}
