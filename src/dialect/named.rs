//! Tags that hold a name after `=`, as `<function=$name>` and `<parameter=$key>`, and what models write in their place: blanks
//! around the sign, quotation marks around the name, and an attribute `name`.

use toolglot_scan::path;

use super::spec;

/// The hole of the name in such a tag, after its sign.
const HOLES: [&str; 2] = ["=$name>", "=$key>"];

/// What comes between the word of a tag and its name.
const SIGNS: [&str; 4] = ["=", " =", " name=", " name ="];
/// The attribute in some of these.
const ATTRIBUTE: &str = " name";

/// The tag of a pattern up to its sign, and what the pattern is around it.
fn tag(pattern: &str) -> Option<(&str, &str, &str)> {
    let at = HOLES.iter().find_map(|hole| pattern.find(hole))?;
    let open = pattern[..at].rfind('<')?;
    let word = &pattern[open..at];
    let plain = word[1..]
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && word.len() > 1).then(|| (&pattern[..open], word, &pattern[at + 1..]))
}

/// Whether the bytes before a name, or the last of them, show such a slip, if these are the openers.
pub(crate) fn slips(before: &str, open: &[String]) -> bool {
    let own = &before[before.rfind('<').unwrap_or(0)..];
    own.contains([' ', '\t', '\r', '\n', '"', '\'']) && open.iter().any(|open| tag(open).is_some())
}

/// What stands in place of a tool's name. No line end: a word on the next line is none.
const FORMS: [&str; 6] = [
    "$name",
    " $name",
    "\"$name\"",
    "'$name'",
    " \"$name\"",
    " '$name'",
];

/// The rest of a pattern, which begins with a name, with these. The name of a parameter may contain blanks and quotation marks.
fn with_forms(rest: &str) -> Vec<String> {
    match rest.strip_prefix("$name") {
        Some(rest) => FORMS.map(|name| format!("{name}{rest}")).to_vec(),
        None => vec![rest.to_owned()],
    }
}

/// The openers that were added to those of calls.
#[derive(Clone)]
pub(crate) struct Slips(Vec<String>);

impl Slips {
    /// Whether an opener may open a block. One with an attribute may be another dialect's.
    pub fn enters(&self, open: &String) -> bool {
        !self.0.contains(open) || !open.contains(ATTRIBUTE)
    }

    /// Whether an opener is searched for: not if it begins like another one.
    pub fn is_searched(&self, open: &String) -> bool {
        let ends = |sign: &str| path::literal(open).is_ok_and(|literal| literal.ends_with(sign));
        !self.0.contains(open) || !open.contains(ATTRIBUTE) && ends(SIGNS[1])
    }
}

/// Adds the slips to the openers of calls and parameters, and to the evidence of them.
pub(super) fn with_slips(mut spec: spec::Framed) -> (spec::Framed, Slips) {
    let mut added = Slips(vec![]);
    let opens = spec.unit.iter().flat_map(|unit| &unit.open);
    let opens = opens.chain(spec.param.iter().flat_map(|param| &param.open));
    let words: Vec<String> = opens
        .filter_map(|open| Some(tag(open)?.1.to_owned()))
        .collect();
    if words.is_empty() {
        return (spec, added);
    }
    let signed = |patterns: &mut Vec<String>| {
        for word in &words {
            let plain = format!("{word}=");
            let have = patterns.iter().filter(|pattern| pattern.contains(&plain));
            let other = |pattern: &String| {
                let sign = |sign: &&str| pattern.replace(&plain, &format!("{word}{sign}"));
                SIGNS[1..].iter().map(sign).collect::<Vec<_>>()
            };
            let more: Vec<String> = have.flat_map(other).collect();
            patterns.extend(more);
        }
    };
    let slips = |open: &String| -> Vec<String> {
        let Some((before, word, rest)) = tag(open) else {
            return vec![];
        };
        let rests = with_forms(rest);
        let all = SIGNS.iter().flat_map(|sign| {
            let one = |rest: &String| format!("{before}{word}{sign}{rest}");
            rests.iter().map(one).collect::<Vec<_>>()
        });
        all.filter(|slip| slip != open).collect()
    };
    for unit in &mut spec.unit {
        let more: Vec<String> = unit.open.iter().flat_map(slips).collect();
        if !more.is_empty() {
            unit.probe = unit
                .probe
                .iter()
                .flat_map(|probe| with_forms(probe))
                .collect();
        }
        added.0.extend(more.iter().cloned());
        unit.open.extend(more);
        signed(&mut unit.probe);
    }
    if let Some(section) = &mut spec.section {
        signed(&mut section.probe);
    }
    if let Some(param) = &mut spec.param {
        let more: Vec<String> = param.open.iter().flat_map(slips).collect();
        param.open.extend(more);
    }
    (spec, added)
}
