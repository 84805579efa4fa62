//! Validates a dialect, and a set of them: every rejection names the key and the reason.

use std::fmt::Display;

use toolglot_scan::Case;

use super::plan::Member;
use super::sizes::MARKER;
use super::spec::{Deltas, Framed, KeyQuote, Payload, Reasoning, SpanSpec, Spec, Unit};
use super::{Dialect, Lint};
use crate::error::BuildError;
use crate::kind::Kind;

/// The maximum length of a beginning that distinguishes a call without a name from a mention.
pub(super) const MAX_NAMELESS: usize = 64;

pub(super) fn key(spec: &Spec, key: &str, why: &(impl Display + ?Sized)) -> BuildError {
    BuildError::Key {
        dialect: spec.id.clone(),
        key: key.to_owned(),
        why: why.to_string(),
    }
}

pub(super) fn no_family(spec: &Spec) -> BuildError {
    let why = "exactly one of the tables key_quote, element_tree, named_params, attribute_params, framed, line is needed, or reasoning, framing or channels without calls, or `plain = true`";
    key(spec, "key_quote", why)
}

/// Validates one dialect on its own.
pub(super) fn dialect(spec: &Spec) -> Result<(), BuildError> {
    let id_ok =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_' || c == '.';
    if spec.id.is_empty() || !spec.id.chars().all(id_ok) {
        return Err(key(
            spec,
            "id",
            "it must be made of a-z, 0-9, `-`, `_` and `.`",
        ));
    }
    let families = [
        spec.key_quote.is_some(),
        spec.element_tree.is_some(),
        spec.named_params.is_some(),
        spec.attribute_params.is_some(),
        spec.framed.is_some(),
        spec.line.is_some(),
    ];
    let plain = spec.plain
        || !spec.reasoning.is_empty()
        || !spec.framing.is_empty()
        || spec.channels.is_some();
    let count = families.iter().filter(|given| **given).count();
    if count > 1 || (count == 0 && !plain) {
        return Err(no_family(spec));
    }
    for name in spec.observe.keys() {
        let outcome = matches!(name.as_str(), "executed" | "failed" | "other");
        if !outcome && Kind::from_name(name).is_none() {
            return Err(key(
                spec,
                &format!("observe.{name}"),
                "there is no kind of issue of that name",
            ));
        }
    }
    for (index, reasoning) in spec.reasoning.iter().enumerate() {
        reasoning_markers(spec, index, reasoning)?;
    }
    for (index, framing) in spec.markup.iter().enumerate() {
        marker(spec, &format!("markup[{index}]"), framing)?;
    }
    for (index, framing) in spec.messages.iter().enumerate() {
        marker(spec, &format!("messages[{index}]"), framing)?;
    }
    for (index, framing) in spec.framing.iter().enumerate() {
        marker(spec, &format!("framing[{index}]"), framing)?;
    }
    for (index, other) in spec.others.iter().enumerate() {
        marker(spec, &format!("others[{index}]"), other)?;
    }
    for (index, turn) in spec.turn.iter().enumerate() {
        marker(spec, &format!("turn[{index}]"), turn)?;
    }
    if let Some(channels) = &spec.channels {
        let most = super::bounds::MAX_ENDS;
        if channels.end.is_empty() || channels.end.len() > most {
            let why = format!("there must be one to {most} markers");
            return Err(key(spec, "channels.end", &why));
        }
        let lists = [
            ("start", &channels.start),
            ("end", &channels.end),
            ("close", &channels.close),
        ];
        for (part, list) in lists {
            for item in list {
                marker(spec, &format!("channels.{part}"), item)?;
            }
        }
    }
    for (index, span) in spec.span.iter().enumerate() {
        pair(spec, &format!("span[{index}]"), &span.open, &span.close)?;
        if span.kind.is_empty() {
            return Err(key(
                spec,
                &format!("span[{index}].kind"),
                "it must not be empty",
            ));
        }
        if let Some(issue) = &span.issue
            && Kind::from_name(issue).is_none()
        {
            return Err(key(
                spec,
                &format!("span[{index}].issue"),
                "there is no kind of issue of that name",
            ));
        }
    }
    if let Some(body) = &spec.key_quote {
        deltas(
            spec,
            &[Deltas::AtCallEnd],
            "arguments are known when the block ends: a later field may change them",
        )?;
        key_quote(spec, body)?;
    }
    if let Some(body) = &spec.element_tree {
        deltas(
            spec,
            &[Deltas::AtCallEnd],
            "a later element may turn a value into a list",
        )?;
        pair(spec, "element_tree", &body.open, &body.close)?;
        let name = body
            .open
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        match name {
            Some(name) if tag(name) && body.close == format!("</{name}>") => {}
            _ => {
                return Err(key(
                    spec,
                    "element_tree.open",
                    "open and close must be the tags <NAME> and </NAME> of one name",
                ));
            }
        }
        if !tag(&body.item) {
            return Err(key(spec, "element_tree.item", "it must be a tag name"));
        }
    }
    let live = "a parameter is final at its closer at the latest";
    if let Some(body) = &spec.named_params {
        deltas(spec, &[Deltas::Live, Deltas::AtValueEnd], live)?;
        tags(
            spec,
            "named_params",
            &[
                ("call", &body.call),
                ("param", &body.param),
                ("name", &body.name),
            ],
        )?;
        nameless(spec, "named_params.nameless", &body.nameless)?;
        if body.call == body.param {
            return Err(key(
                spec,
                "named_params.param",
                "it must differ from `call`",
            ));
        }
        bound(spec, "named_params.confirm", body.confirm)?;
    }
    if let Some(body) = &spec.attribute_params {
        deltas(spec, &[Deltas::Live, Deltas::AtValueEnd], live)?;
        tags(
            spec,
            "attribute_params",
            &[
                ("call", &body.call),
                ("name", &body.name),
                ("value", &body.value),
            ],
        )?;
        nameless(spec, "attribute_params.nameless", &body.nameless)?;
        bound(spec, "attribute_params.confirm", body.confirm)?;
    }
    if let Some(body) = &spec.framed {
        let payloads = body.unit.iter().map(|unit| unit.payload);
        let (allowed, why) = framed_deltas(payloads);
        deltas(spec, &allowed, why)?;
        delimiters(spec, &body.braces.delimiters)?;
        if let Some(section) = &body.section {
            apart(spec, "framed.section", &section.open, &section.close)?;
        }
        for (index, unit) in body.unit.iter().enumerate() {
            let name = format!("framed.unit[{index}]");
            apart(spec, &name, &unit.open, &unit.close)?;
        }
    }
    if spec.line.is_some() {
        deltas(spec, &[Deltas::Live], "the arguments are JSON")?;
    }
    Ok(())
}

fn reasoning_markers(spec: &Spec, index: usize, reasoning: &Reasoning) -> Result<(), BuildError> {
    let name = |part: &str| format!("reasoning[{index}].{part}");
    for (part, list) in [
        ("open", &reasoning.open),
        ("close", &reasoning.close),
        ("ended_by", &reasoning.ended_by),
    ] {
        for item in list {
            marker(spec, &name(part), item)?;
        }
    }
    if reasoning.open.is_empty() || reasoning.close.is_empty() {
        return Err(key(
            spec,
            &name("open"),
            "open and close need at least one marker each",
        ));
    }
    if reasoning
        .open
        .iter()
        .any(|open| reasoning.close.contains(open))
    {
        let why = "it must differ from the opener, or they could not be distinguished";
        return Err(key(spec, &name("close"), why));
    }
    if reasoning.nested && reasoning.repeats {
        let why = "an opener inside opens a level or is framing, not both";
        return Err(key(spec, &name("repeats"), why));
    }
    if reasoning.label.len() > 64 {
        return Err(key(spec, &name("label"), "it may have at most 64 bytes"));
    }
    Ok(())
}

/// When arguments of these payloads can be delivered: what all of them can do.
fn framed_deltas(payloads: impl Iterator<Item = Payload>) -> (Vec<Deltas>, &'static str) {
    let mut allowed: Vec<Deltas> = vec![];
    let mut why = "";
    for payload in payloads {
        let (can, because) = payload.deltas();
        why = because;
        for one in can {
            if !allowed.contains(one) {
                allowed.push(*one);
            }
        }
    }
    (allowed, why)
}

fn deltas(spec: &Spec, allowed: &[Deltas], why: &str) -> Result<(), BuildError> {
    if allowed.contains(&spec.deltas) {
        return Ok(());
    }
    let names: Vec<_> = allowed
        .iter()
        .map(|d| match d {
            Deltas::Live => "live",
            Deltas::AtValueEnd => "at-value-end",
            Deltas::AtCallEnd => "at-call-end",
        })
        .collect();
    Err(key(
        spec,
        "deltas",
        &format!("this family can do {}: {why}", names.join(" or ")),
    ))
}

fn bound(spec: &Spec, name: &str, value: u32) -> Result<(), BuildError> {
    if value > 65_536 {
        return Err(key(
            spec,
            name,
            "a lookahead of more than 65536 bytes would hold text back for too long",
        ));
    }
    Ok(())
}

fn marker(spec: &Spec, name: &str, marker: &str) -> Result<(), BuildError> {
    if marker.is_empty() {
        return Err(key(spec, name, "an empty marker would match everywhere"));
    }
    // A switch may have inserted the host's value.
    if marker.len() > MARKER {
        let why = format!("a marker may have at most {MARKER} bytes");
        return Err(key(spec, name, &why));
    }
    Ok(())
}

fn pair(spec: &Spec, name: &str, open: &str, close: &str) -> Result<(), BuildError> {
    marker(spec, &format!("{name}.open"), open)?;
    marker(spec, &format!("{name}.close"), close)?;
    if open == close {
        return Err(key(
            spec,
            &format!("{name}.close"),
            "it must differ from the opener, or they could not be distinguished",
        ));
    }
    Ok(())
}

/// Refuses a list of closers that has one of the openers.
fn apart(spec: &Spec, name: &str, open: &[String], close: &[String]) -> Result<(), BuildError> {
    match open.iter().any(|open| close.contains(open)) {
        true => Err(key(
            spec,
            &format!("{name}.close"),
            "it must differ from the opener, or they could not be distinguished",
        )),
        false => Ok(()),
    }
}

/// Whether a string can be the name in a tag.
fn tag(name: &str) -> bool {
    let bad = |c: char| c.is_whitespace() || c.is_control() || "<>/=\"'&".contains(c);
    !name.is_empty() && !name.contains(bad) && name.len() <= MARKER && !name.starts_with(['!', '?'])
}

fn tags(spec: &Spec, table: &str, names: &[(&str, &String)]) -> Result<(), BuildError> {
    match names.iter().find(|(_, name)| !tag(name)) {
        Some((name, _)) => Err(key(
            spec,
            &format!("{table}.{name}"),
            "it must be a tag or attribute name",
        )),
        None => Ok(()),
    }
}

/// The first byte of a value determines its delimiter.
fn delimiters(spec: &Spec, list: &[String]) -> Result<(), BuildError> {
    let name = "framed.braces.delimiters";
    let first = |text: &String| text.bytes().next();
    for (index, delimiter) in list.iter().enumerate() {
        marker(spec, name, delimiter)?;
        if let Some(other) = list[..index]
            .iter()
            .find(|other| first(other) == first(delimiter))
        {
            let why = format!("`{other}` and `{delimiter}` begin with the same byte");
            return Err(key(spec, name, &why));
        }
        let taken =
            |byte: u8| byte.is_ascii_alphanumeric() || b"\"'{}[],:+-._ \t\r\n".contains(&byte);
        if first(delimiter).is_some_and(|byte| !byte.is_ascii()) {
            let why = format!("`{delimiter}` begins with no ASCII character, as values may");
            return Err(key(spec, name, &why));
        }
        if first(delimiter).is_some_and(taken) {
            let why = format!("`{delimiter}` begins as another value, a bracket or a blank does");
            return Err(key(spec, name, &why));
        }
    }
    Ok(())
}

fn nameless(spec: &Spec, name: &str, starts: &[String]) -> Result<(), BuildError> {
    if starts.iter().any(String::is_empty) {
        return Err(key(spec, name, "an empty beginning would match everywhere"));
    }
    if starts.len() > 32 {
        return Err(key(spec, name, "there may be at most 32 beginnings"));
    }
    if starts.iter().any(|s| s.len() > MAX_NAMELESS) {
        return Err(key(spec, name, "a beginning may have at most 64 bytes"));
    }
    Ok(())
}

fn key_quote(spec: &Spec, body: &KeyQuote) -> Result<(), BuildError> {
    let lists: [(&str, &[String]); 4] = [
        ("open", &body.open),
        ("close", &body.close),
        ("colon", &body.colon),
        ("separators", &body.separators),
    ];
    for (name, list) in lists {
        let name = format!("key_quote.{name}");
        if list.is_empty() && !name.ends_with("separators") {
            return Err(key(spec, &name, "at least one is needed"));
        }
        for item in list {
            marker(spec, &name, item)?;
        }
    }
    for (name, list) in [("colon", &body.colon), ("separators", &body.separators)] {
        if list.iter().any(|item| item.chars().count() != 1) {
            return Err(key(
                spec,
                &format!("key_quote.{name}"),
                "each must be one character",
            ));
        }
    }
    if let Some(both) = body.close.iter().find(|close| body.open.contains(close)) {
        return Err(key(
            spec,
            "key_quote.close",
            &format!("`{both}` is an opener too"),
        ));
    }
    if body.name.is_empty() {
        return Err(key(spec, "key_quote.name", "it must not be empty"));
    }
    if body
        .extra
        .bytes()
        .any(|b| Some(b) != body.extra.bytes().next())
    {
        return Err(key(spec, "key_quote.extra", "it must repeat one byte"));
    }
    if let Some(comment) = &body.comment {
        let ok = matches!(comment.open.chars().count(), 1 | 2)
            && !comment.open.contains(char::is_whitespace);
        if !ok {
            return Err(key(
                spec,
                "key_quote.comment.open",
                "it must be one or two characters other than whitespace",
            ));
        }
    }
    for (name, prefix) in [
        ("shared_prefix", &body.shared_prefix),
        ("type_prefix", &body.type_prefix),
    ] {
        // Its last character may be one that the fold puts between words.
        let probe = format!("{prefix}x");
        if super::spec::fold(&probe, &body.fold) != probe {
            let why = "it must be written as keys are once they are folded";
            return Err(key(spec, &format!("key_quote.{name}"), why));
        }
    }
    if body.quotes.is_empty() {
        return Err(key(spec, "key_quote.quotes", "at least one is needed"));
    }
    for (index, quote) in body.quotes.iter().enumerate() {
        let name = format!("key_quote.quotes[{index}]");
        if quote.open.is_empty() || quote.close.is_empty() {
            return Err(key(
                spec,
                &name,
                "open and close need at least one marker each",
            ));
        }
        for item in quote
            .open
            .iter()
            .chain(&quote.close)
            .chain(&quote.loose_close)
        {
            marker(spec, &name, item)?;
        }
        for [from, _] in &quote.restore {
            marker(spec, &format!("{name}.restore"), from)?;
        }
        if let Some(both) = quote.close.iter().find(|close| quote.open.contains(close)) {
            return Err(key(
                spec,
                &format!("{name}.close"),
                &format!("`{both}` is an opener too"),
            ));
        }
        if let Some(both) = quote.close.iter().find(|close| body.close.contains(close)) {
            return Err(key(
                spec,
                &format!("{name}.close"),
                &format!("`{both}` closes the block too"),
            ));
        }
    }
    let opens: Vec<&String> = body.quotes.iter().flat_map(|quote| &quote.open).collect();
    match prefix(&opens) {
        Some((short, long)) => Err(key(
            spec,
            "key_quote.quotes",
            &format!("`{short}` is a beginning of `{long}`, so the longer one can never be seen"),
        )),
        None => Ok(()),
    }
}

/// Finds two entries of which the first is a prefix of (or equal to) the second.
fn prefix<'a>(list: &[&'a String]) -> Option<(&'a str, &'a str)> {
    for (i, short) in list.iter().enumerate() {
        for (j, long) in list.iter().enumerate() {
            if i != j && long.starts_with(short.as_str()) {
                return Some((short, long));
            }
        }
    }
    None
}

/// A marker that starts something in plain text.
struct Starter<'a> {
    dialect: usize,
    marker: String,
    case: Case,
    /// What follows it decides whose it is, or whether it counts.
    probed: bool,
    /// It is framing, not part of the text.
    framing: bool,
    /// The protected region that it opens.
    span: Option<&'a SpanSpec>,
    reasoning: Option<&'a Reasoning>,
}

impl Starter<'_> {
    /// Whether `other` begins with this one, as both are matched.
    fn begins(&self, other: &Self) -> bool {
        let fold = self.case == Case::Ignore || other.case == Case::Ignore;
        let head = other.marker.get(..self.marker.len());
        head.is_some_and(|head| {
            if fold {
                head.eq_ignore_ascii_case(&self.marker)
            } else {
                head == self.marker
            }
        })
    }

    /// Whether both are allowed: they mean the same, or each is read where the other is not.
    fn shared(&self, other: &Self) -> bool {
        // The longer of two tokens replaces the other; a token that is also an opener is a token where it opens nothing.
        if self.framing && (other.framing || other.probed) || self.probed && other.framing {
            return true;
        }
        // A region may begin with a token that also stands alone.
        if self.framing && other.span.is_some() && self.marker != other.marker {
            return true;
        }
        let same = |(a, b): (&Reasoning, &Reasoning)| a.close == b.close;
        let reasoning = self.reasoning.zip(other.reasoning).is_some_and(same);
        let spans = self.span.is_some() && self.span == other.span;
        self.marker == other.marker && (reasoning || spans)
    }
}

fn starters(dialects: &[Dialect]) -> Vec<Starter<'_>> {
    let mut out = vec![];
    for (dialect, compiled) in dialects.iter().enumerate() {
        let family = &compiled.family;
        let plain = |marker: &String, reasoning| Starter {
            dialect,
            marker: marker.clone(),
            case: Case::Exact,
            probed: false,
            framing: false,
            span: None,
            reasoning,
        };
        out.extend(compiled.openers().into_iter().map(|marker| Starter {
            dialect,
            probed: compiled.spec.channels.is_some() || family.probes(&marker),
            marker,
            case: family.case(),
            framing: false,
            span: None,
            reasoning: None,
        }));
        out.extend(
            compiled
                .spec
                .reasoning
                .iter()
                .flat_map(|r| r.open.iter().map(move |open| plain(open, Some(r)))),
        );
        out.extend(compiled.spec.framing.iter().map(|marker| Starter {
            framing: true,
            ..plain(marker, None)
        }));
        out.extend(compiled.spec.span.iter().map(|s| Starter {
            span: Some(s),
            ..plain(&s.open, None)
        }));
    }
    out
}

/// Validates dialects against each other.
pub(super) fn set(dialects: &[Dialect]) -> Result<(), BuildError> {
    let clash = |a: usize, b: usize, why: String| BuildError::Clash {
        first: dialects[a].id().to_owned(),
        second: dialects[b].id().to_owned(),
        why,
    };
    for (b, second) in dialects.iter().enumerate() {
        for (a, first) in dialects[..b].iter().enumerate() {
            if first.id() == second.id() {
                return Err(clash(a, b, "the id is the same".to_owned()));
            }
            if first.spec.group.is_some() && first.spec.group == second.spec.group {
                let group = first.spec.group.as_deref().unwrap_or_default();
                return Err(clash(
                    a,
                    b,
                    format!(
                        "both belong to the group {group}: same markup, different framing; choose one"
                    ),
                ));
            }
        }
    }
    let starters = starters(dialects);
    // In this order those that begin with a marker, in whatever case, come right behind it.
    let folded = starters.iter().map(|one| one.marker.to_ascii_lowercase());
    let mut order: Vec<(String, usize)> = folded.zip(0..).collect();
    order.sort_unstable();
    for (i, short) in starters.iter().enumerate() {
        let marker = short.marker.to_ascii_lowercase();
        let before = order.partition_point(|(other, _)| *other < marker);
        let longer = order[before..].iter();
        let longer = longer.take_while(|(other, _)| other.starts_with(&marker));
        let mut longer: Vec<usize> = longer.map(|(_, j)| *j).collect();
        longer.sort_unstable();
        for j in longer {
            let long = &starters[j];
            if i == j || !short.begins(long) || short.shared(long) {
                continue;
            }
            let same = short.marker.len() == long.marker.len();
            let (a, b) = (short.dialect, long.dialect);
            let told_apart = short.probed && (!same || long.probed);
            if told_apart {
                continue;
            }
            let why = if same {
                format!("`{}` opens both and nothing tells them apart", short.marker)
            } else {
                let (short, long) = (&short.marker, &long.marker);
                format!("`{short}` is a beginning of `{long}`, so the longer one can never be seen")
            };
            let own = || key(&dialects[a].spec, "open", &why);
            return Err(if a == b {
                own()
            } else {
                clash(a, b, why.clone())
            });
        }
    }
    Ok(())
}

/// What is surprising about the evidence of a framed call.
fn probe_lints(body: &Framed, unit: &Unit) -> Vec<String> {
    let holes = ["$name", "$tag", "$id"];
    let begins = |text: &str| holes.iter().any(|hole| text.starts_with(hole));
    let mut out = vec![];
    for open in &unit.open {
        let Some(at) = open.find('$') else { continue };
        let rest = &open[at..];
        let named = begins(rest.strip_prefix("$_").unwrap_or(rest));
        let names = |probe: &String| holes.iter().any(|hole| probe.contains(hole));
        if named && !unit.probe.is_empty() && !unit.probe.iter().any(names) {
            out.push(format!(
                "no `probe` of `{open}` can match: each is compared with what follows `{}`, and must begin with `{rest}`",
                &open[..at]
            ));
        }
    }
    let free = matches!(unit.payload, Payload::Content | Payload::Mapping(_));
    if free && unit.probe.is_empty() && body.section.is_none() {
        for open in unit.open.iter().filter(|open| !open.contains("$^")) {
            out.push(format!(
                "`{open}` opens on its marker alone, since its text may be anything: a mention of it hides what follows, without a `probe`"
            ));
        }
    }
    out
}

/// Valid but possibly surprising properties.
pub(super) fn lints(dialects: &[Member]) -> Vec<Lint> {
    let mut out = vec![];
    let mut say = |dialect: &Dialect, message: String| {
        out.push(Lint {
            dialect: dialect.id().to_owned(),
            message,
        })
    };
    for dialect in dialects {
        for open in dialect.openers() {
            let word = |b: u8| b.is_ascii_alphanumeric() || b == b' ';
            if open.bytes().all(word) {
                say(
                    dialect,
                    format!(
                        "opener `{open}` is a word: in prose, only what must follow it tells that it opens nothing"
                    ),
                );
            }
            if open.len() < 4 {
                say(
                    dialect,
                    format!("opener `{open}` is short and will fire in prose or code"),
                );
            }
            let overlap = (1..open.len())
                .rev()
                .find(|n| open.is_char_boundary(*n) && open.ends_with(&open[..*n]));
            if let Some(n) = overlap {
                say(
                    dialect,
                    format!("opener `{open}` overlaps itself by {n} bytes"),
                );
            }
        }
        if let Some(body) = &dialect.spec.framed {
            for message in body.unit.iter().flat_map(|unit| probe_lints(body, unit)) {
                say(dialect, message);
            }
        }
        if let Some(body) = &dialect.spec.key_quote {
            for quote in &body.quotes {
                if let Some(plain) = quote.close.iter().find(|c| c.len() < 3) {
                    say(
                        dialect,
                        format!(
                            "value closer `{plain}` is short and will truncate values that contain it"
                        ),
                    );
                }
            }
        }
    }
    out
}
