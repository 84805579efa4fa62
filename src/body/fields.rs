//! Turns fields into calls. Runs once, when a key-quote block ends.
//!
//! A numbered chain (`command1`, `path1`, `command2`, ...) is one call per number, in numeric order; keys without a number
//! are shared. A suffix is a number only if the chain has that number, so `sha256` stays a key of its own.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use toolglot_scan::{json, lossy};

use super::typed::{Typed, declared_json, repeated, typed};
use super::{Block, Out, tool_name};
use crate::dialect::KeyQuote;
use crate::dialect::spec::fold;
use crate::dialect::spec::{self, Fold, Trim};
use crate::event::{Arguments, Origin, Span};
use crate::hints::{Coerced, Tool, Types, closest};
use crate::kind::{Kind, KindSet};

/// The fact of a call that gives its number in a chain.
const INDEX: &str = "index";

/// One field; offsets are stream offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Field {
    pub key: String,
    /// Its key up to the value's opener.
    pub span: Span,
    pub quote: u16,
    pub value: (u64, u64),
    /// The value's first bytes, if the block is not retained and the field may name the tool.
    pub kept: Option<Vec<u8>>,
}

/// Whether a field of this key may name the tool.
pub(super) fn may_name(table: &KeyQuote, key: &str) -> bool {
    is_called(table, key, &table.spec.name)
}

/// Whether a field of this key may name the tool, or decide what becomes of a chain.
pub(super) fn may_decide(table: &KeyQuote, key: &str) -> bool {
    let go_on = table.spec.go_on.as_ref();
    may_name(table, key) || go_on.is_some_and(|go_on| is_called(table, key, &go_on.key))
}

/// Whether a key is this word, with or without a number.
fn is_called(table: &KeyQuote, key: &str, word: &str) -> bool {
    let spec = &table.spec;
    let word = fold(word, &spec.fold);
    fold(key, &spec.fold) == word
        || split(key, spec).any(|(base, _)| fold(base, &spec.fold) == word)
}

/// A value as text: restored as its quote demands, trimmed as the dialect demands.
pub(super) fn text(table: &KeyQuote, out: &Out<'_>, field: &Field) -> String {
    let retained = || {
        out.io.block.as_deref().map_or(&[][..], |block: &Block| {
            block.slice(field.value.0, field.value.1)
        })
    };
    let bytes = field.kept.as_deref().unwrap_or_else(retained);
    let mut text = lossy(bytes).into_owned();
    for [from, to] in &table.spec.quotes[usize::from(field.quote)].restore {
        if text.contains(from) {
            text = text.replace(from, to);
        }
    }
    match table.spec.trim {
        Trim::None => text,
        Trim::Ends => text.trim().to_owned(),
    }
}

/// A field as a chain sees it.
struct Read<'a> {
    field: &'a Field,
    /// The number, if the key ends with one of the chain's numbers.
    number: Option<u32>,
    /// The key without it.
    base: &'a str,
    folded: String,
    /// The whole key, folded.
    folded_whole: String,
}

/// One argument of a call.
struct Argument<'a> {
    key: String,
    field: &'a Field,
    own: bool,
    /// Earlier fields of this key, if the schema makes a list of them.
    before: Vec<&'a Field>,
}

/// Delivers the calls of a block that ends at `end`; returns whether there are any.
pub(super) fn assemble(
    out: &mut Out<'_>,
    table: &KeyQuote,
    fields: &[Field],
    kinds: KindSet,
    end: u64,
) -> Result<bool, Kind> {
    let spec = &table.spec;
    let span = out.block_span(end);
    if fields.is_empty() {
        out.empty_block(kinds, end);
        return Ok(false);
    }
    let chain = spec.chain.as_deref().map(|chain| fold(chain, &spec.fold));
    let mut numbers = BTreeSet::new();
    for field in fields.iter().filter(|_| chain.is_some()) {
        let mine = |(base, _): &(&str, u32)| chain.as_deref() == Some(&fold(base, &spec.fold));
        numbers.extend(split(&field.key, spec).find(mine).map(|(_, number)| number));
        if numbers.len() > out.limits().max_chain as usize {
            return Err(Kind::LimitChain);
        }
    }
    let mut read: Vec<Read> = fields
        .iter()
        .map(|field| read(field, spec, &numbers))
        .collect();
    let name = fold(&spec.name, &spec.fold);
    let mut kinds = kinds;
    for field in orphans(out, table, &mut read, &numbers) {
        kinds.insert(Kind::OrphanParam);
        out.tool_issue(Kind::OrphanParam, field.span, "", &field.key);
    }
    let named_by_chain = chain.as_deref() == Some(name.as_str());
    let first = read.iter().any(|r| r.number.is_none() && r.folded == name);
    let mut calls: Vec<Option<u32>> = numbers.iter().copied().map(Some).collect();
    if calls.is_empty() || (named_by_chain && first) {
        calls.insert(0, None);
    }
    let (mut any, mut broken) = (false, false);
    for number in calls {
        let wanted = if named_by_chain { number } else { None };
        let is_name = |r: &&Read| r.folded == name && r.number == wanted;
        let naming: Vec<&Read> = read.iter().filter(is_name).collect();
        let plan = Plan {
            table,
            read: &read,
            name: &name,
            chain: chain.as_deref(),
            number,
            kinds,
            span,
        };
        if broken {
            plan.not_run(out, &naming);
        } else {
            // The steps of a chain build on each other: none runs after one that broke.
            let called = plan.call(out, &naming)?;
            any |= called;
            broken = !called && !plan.goes_on(out);
        }
    }
    Ok(any)
}

/// Ways to split a key into base and number, the longest number first. 0 is a number: some models count from it. Digits with
/// leading zeros are not a number. If underscores in keys are ignored, one before the number is not part of the key.
pub(crate) fn split<'a>(
    key: &'a str,
    spec: &'a spec::KeyQuote,
) -> impl Iterator<Item = (&'a str, u32)> {
    let key = ended(key, spec);
    let digits = key
        .bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .count()
        .min(9);
    (1..=digits).rev().filter_map(move |count| {
        let (base, number) = key.split_at(key.len() - count);
        let infix = spec.chain_infix.as_str();
        let base = if infix.is_empty() {
            base
        } else {
            base.strip_suffix(infix).unwrap_or(base)
        };
        let base = if spec.fold.contains(&Fold::Underscore) {
            base.trim_end_matches('_')
        } else {
            base
        };
        let padded = number.starts_with('0') && count > 1;
        (!padded && !base.is_empty())
            .then(|| number.parse().ok().map(|n| (base, n)))
            .flatten()
    })
}

/// A key without the characters at its end that make no difference (`command1_`).
fn ended<'a>(key: &'a str, spec: &spec::KeyQuote) -> &'a str {
    key.trim_end_matches(|c: char| {
        !c.is_alphanumeric() && fold(c.encode_utf8(&mut [0; 4]), &spec.fold).is_empty()
    })
}

fn read<'a>(field: &'a Field, spec: &'a spec::KeyQuote, numbers: &BTreeSet<u32>) -> Read<'a> {
    let found = split(&field.key, spec).find(|(_, number)| numbers.contains(number));
    let (base, number) = found.map_or((field.key.as_str(), None), |(base, number)| {
        (base, Some(number))
    });
    let folded = fold(base, &spec.fold);
    Read {
        field,
        number,
        base,
        folded,
        folded_whole: fold(&field.key, &spec.fold),
    }
}

/// Fields of steps that the chain does not have: what they were meant for is missing. They keep their digits. A key that is
/// a parameter of a tool of the block means that parameter.
fn orphans<'a>(
    out: &Out<'_>,
    table: &KeyQuote,
    read: &mut [Read<'a>],
    numbers: &BTreeSet<u32>,
) -> Vec<&'a Field> {
    let spec = &table.spec;
    let keys = read.iter().map(|r| Key {
        whole: &r.field.key,
        base: &r.folded,
        number: r.number,
    });
    let found = doubts(spec, numbers, &keys.collect::<Vec<_>>());
    if found.is_empty() {
        return vec![];
    }
    let name = fold(&spec.name, &spec.fold);
    let naming = read.iter().filter(|r| r.folded == name);
    let tools = naming.filter_map(|r| out.tool(text(table, out, r.field).trim()));
    let known: HashSet<String> = tools
        .flat_map(|tool| tool.folded(|name| fold(name, &spec.fold)).into_keys())
        .collect();
    let mut lost = vec![];
    for index in found {
        let r = &mut read[index];
        if r.number.is_some() {
            if known.contains(&r.folded) {
                continue;
            }
            (r.base, r.number) = (&r.field.key, None);
            r.folded.clone_from(&r.folded_whole);
        }
        if !known.contains(&r.folded_whole) {
            lost.push(r.field);
        }
    }
    lost
}

/// A key as a chain with these numbers reads it.
pub(crate) struct Key<'a> {
    pub whole: &'a str,
    /// The key without the number, folded.
    pub base: &'a str,
    pub number: Option<u32>,
}

/// The keys, by index, whose digits may mean a step that the chain does not have: its own field was forgotten or misspelt,
/// or its number has leading zeros. Digits mean a step if the steps reach that far, counting the next one, or if another
/// step has a field of that name, or if the name is close to the one that makes steps. Otherwise, as in `sha256`, they
/// belong to the key. Where only the last digits are a number of the chain (`path11`, `path01`), all of them may have been
/// meant.
pub(crate) fn doubts(
    spec: &spec::KeyQuote,
    numbers: &BTreeSet<u32>,
    keys: &[Key<'_>],
) -> Vec<usize> {
    let Some(chain) = spec.chain.as_deref() else {
        return vec![];
    };
    let ends: Vec<_> = keys
        .iter()
        .map(|key| numbered(ended(key.whole, spec)))
        .collect();
    // Whether there are digits before the number.
    let more = |key: &Key<'_>, base: &str, number: u32| {
        let width = number.checked_ilog10().unwrap_or(0) as usize + 1;
        ended(key.whole, spec).len() - base.len() > width
    };
    let mut steps: HashSet<&str> = HashSet::new();
    for (key, end) in keys.iter().zip(&ends) {
        let all = |(base, _): &(&str, u32)| key.number.is_some_and(|n| !more(key, base, n));
        steps.extend(end.as_ref().filter(|end| all(end)).map(|_| key.base));
    }
    let next = numbers.last().map(|last| last + 1);
    let doubt = |key: &Key<'_>, (base, whole): (&str, u32)| {
        let name = base.strip_suffix(spec.chain_infix.as_str()).unwrap_or(base);
        let folded = fold(name, &spec.fold);
        let is_step = next.is_some_and(|next| whole <= next) || steps.contains(folded.as_str());
        match key.number {
            None => {
                let fact = spec.meta.iter().chain(&spec.ignore);
                let mut facts = fact.map(|key| fold(key, &spec.fold));
                let near = || closest(name, [chain].into_iter()).is_some();
                is_step || near() && !facts.any(|fact| fact == folded)
            }
            Some(number) => {
                let zeros = || {
                    let whole = ended(key.whole, spec);
                    let before = whole.len().checked_sub(number.to_string().len());
                    before.is_some_and(|at| whole[..at].ends_with('0'))
                };
                more(key, base, number) && (is_step || zeros())
            }
        }
    };
    let all = keys.iter().zip(ends).enumerate();
    all.filter(|(_, (key, end))| end.is_some_and(|end| doubt(key, end)))
        .map(|(index, _)| index)
        .collect()
}

/// A key and the number in its last digits, of any width and with any leading zeros.
fn numbered(key: &str) -> Option<(&str, u32)> {
    let base = key.trim_end_matches(|c| digit(c).is_some());
    let digits = &key[base.len()..];
    let number = |sum: u32, c| {
        let digit = digit(c).unwrap_or_default();
        sum.saturating_mul(10).saturating_add(digit)
    };
    let fits = !digits.is_empty() && !base.is_empty();
    fits.then(|| (base, digits.chars().fold(0, number)))
}

/// The value of a digit, full-width digits included.
fn digit(c: char) -> Option<u32> {
    let wide = u32::from(c).checked_sub(u32::from('０'));
    c.to_digit(10).or(wide.filter(|digit| *digit < 10))
}

/// One call to be made from the fields.
struct Plan<'a> {
    table: &'a KeyQuote,
    read: &'a [Read<'a>],
    name: &'a str,
    chain: Option<&'a str>,
    number: Option<u32>,
    kinds: KindSet,
    span: Span,
}

impl<'a> Plan<'a> {
    /// Delivers the call; returns false if it is not valid.
    fn call(&self, out: &mut Out<'_>, naming: &[&Read<'_>]) -> Result<bool, Kind> {
        let mut kinds = self.kinds;
        let retained = out.retains();
        let Some(last) = naming.last() else {
            out.issue(Kind::MissingName, self.span, "");
            return Ok(false);
        };
        let raw = text(self.table, out, last.field);
        let name = match tool_name(&raw, out.limits().max_name) {
            Ok(name) => name,
            Err(Kind::LimitName) => return Err(Kind::LimitName),
            Err(kind) => {
                out.issue(kind, last.field.span, raw.trim());
                return Ok(false);
            }
        };
        let mut twice = vec![];
        if naming.len() > 1 {
            twice.push((last.field.span, last.field.key.clone()));
        }
        let tool = out.tool(name);
        let (arguments, mut meta) = self.arguments(out, tool, &mut twice);
        if let Some(number) = self.number {
            meta.push((INDEX.to_owned(), number.to_string()));
        }
        let mut json = String::from("{");
        let mut remarks = vec![];
        let hints = self.types(out);
        for read in self.typing() {
            let key = read.folded.strip_prefix(&self.table.spec.type_prefix);
            let of = |argument: &&Argument| {
                Some(fold(&argument.key, &self.table.spec.fold).as_str()) == key
            };
            if read.number == self.number && !arguments.iter().any(|argument| of(&argument)) {
                // The parameter that it types is missing, or its key is misspelt.
                kinds.insert(Kind::OrphanParam);
                out.tool_issue(Kind::OrphanParam, read.field.span, name, &read.field.key);
            }
        }
        for argument in arguments.iter().filter(|_| retained) {
            let result = self.write(out, argument, tool, &hints, &mut json);
            if result != Typed::from(Coerced::Fits) {
                remarks.push((result, argument));
            }
        }
        json.push('}');
        if let Some((_, bad)) = remarks
            .iter()
            .find(|(result, _)| result.how == Coerced::Malformed)
        {
            out.tool_issue(Kind::MalformedValue, bad.field.span, name, &bad.key);
            return Ok(false);
        }
        let call = out.call_open(name, &meta, last.field.span, Origin::Text)?;
        for (span, key) in twice {
            // A repeated value may be resolved by position, a choice between tools may not.
            let last = self.table.spec.last_wins && naming.len() == 1;
            let kind = if last {
                Kind::RepeatedParam
            } else {
                Kind::DuplicateParam
            };
            kinds.insert(kind);
            out.tool_issue(kind, span, name, &key);
        }
        if retained {
            out.arg(call, &json, self.span);
        }
        for (result, argument) in remarks {
            let mismatch = (result.how == Coerced::Mismatch).then_some(Kind::TypeMismatch);
            for kind in result.kinds.iter().chain(mismatch) {
                out.tool_issue(kind, argument.field.span, name, &argument.key);
            }
            kinds.extend(result.kinds);
        }
        if let Some(tool) = tool {
            for argument in arguments
                .iter()
                .filter(|argument| tool.param(&argument.key).is_none())
            {
                out.unknown_param(name, &argument.key, argument.field.span);
            }
            let keys: HashSet<&str> = arguments.iter().map(|a| a.key.as_str()).collect();
            out.missing(name, self.span, |key| keys.contains(key));
        }
        let form = if retained {
            Arguments::Deltas
        } else {
            Arguments::Params
        };
        out.call_close(call, kinds, form, self.span);
        // Steps build on each other, so the chain also ends after one that is left out.
        Ok(!out.is_left_out(name))
    }

    /// Whether the next steps run after one that broke: the dialect has a field for that, and the block sets it.
    fn goes_on(&self, out: &Out<'_>) -> bool {
        let spec = &self.table.spec;
        let Some(go_on) = &spec.go_on else {
            return false;
        };
        let key = fold(&go_on.key, &spec.fold);
        let mine = |r: &&Read| r.folded == key && (r.number.is_none() || r.number == self.number);
        // The step's own field takes precedence over a shared one.
        let field = self
            .read
            .iter()
            .filter(mine)
            .max_by_key(|r| r.number.is_some());
        field.is_some_and(|r| {
            text(self.table, out, r.field)
                .trim()
                .eq_ignore_ascii_case(&go_on.value)
        })
    }

    /// Reports a step that does not run because an earlier one broke.
    fn not_run(&self, out: &mut Out<'_>, naming: &[&Read<'_>]) {
        let named = naming.last().map(|read| read.field);
        let tool = named.map_or(String::new(), |field| text(self.table, out, field));
        let span = named.map_or(self.span, |field| field.span);
        let step = self
            .number
            .map_or(String::new(), |number| number.to_string());
        out.tool_issue(Kind::NotRun, span, tool.trim(), &step);
    }

    /// The fields that are arguments of this call, each key once, and those that are facts about it.
    fn arguments(
        &self,
        out: &Out<'_>,
        tool: Option<&Tool>,
        twice: &mut Vec<(Span, String)>,
    ) -> (Vec<Argument<'a>>, Vec<(String, String)>) {
        let spec = &self.table.spec;
        let same =
            |list: &[String], folded: &str| list.iter().any(|key| fold(key, &spec.fold) == folded);
        let mut arguments: Vec<Argument> = vec![];
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut meta = vec![];
        let params = tool
            .map(|t| t.folded(|name| fold(name, &spec.fold)))
            .unwrap_or_default();
        for read in self.read {
            let (mut base, mut folded, mut own) =
                (read.base, read.folded.as_str(), read.number.is_some());
            if own {
                let known = |folded: &str| params.contains_key(folded);
                let chained = self.chain == Some(folded) || folded == self.name;
                if !chained && tool.is_some() && !known(folded) && known(&read.folded_whole) {
                    (base, folded, own) =
                        (read.field.key.as_str(), read.folded_whole.as_str(), false);
                } else if read.number != self.number {
                    continue;
                }
            }
            let names_tool = folded == self.name && (!own || self.chain == Some(self.name));
            let typing = !spec.type_prefix.is_empty() && folded.starts_with(&spec.type_prefix);
            if names_tool || typing || same(&spec.ignore, folded) {
                continue;
            }
            if same(&spec.meta, folded) {
                meta.push((folded.to_owned(), text(self.table, out, read.field)));
                continue;
            }
            let mut key = base.to_owned();
            if let Some(rest) = folded
                .strip_prefix(spec.shared_prefix.as_str())
                .filter(|_| !spec.shared_prefix.is_empty())
            {
                (key, folded) = (rest.to_owned(), rest);
            }
            let param = tool
                .and_then(|t| t.param(&key))
                .or_else(|| params.get(folded).copied());
            if let Some(param) = param {
                key.clone_from(&param.name);
            } else if spec.fold.contains(&Fold::Punctuation) {
                key = folded.to_owned();
            }
            let place = *places.entry(folded.to_owned()).or_insert(arguments.len());
            let list = param.is_some_and(|p| {
                p.schema.types.has(Types::ARRAY) && !p.schema.types.has(Types::STRING)
            });
            let mut argument = Argument {
                key,
                field: read.field,
                own,
                before: vec![],
            };
            match arguments.get_mut(place) {
                None => arguments.push(argument),
                // A key with the call's number overrides a shared one without an issue.
                Some(have) if have.own && !own => {}
                Some(have) => {
                    if list && have.own == own {
                        argument.before = std::mem::take(&mut have.before);
                        argument.before.push(have.field);
                    } else if have.own == own {
                        let span = Span::new(have.field.span.start, read.field.value.1);
                        twice.push((span, argument.key.clone()));
                    }
                    *have = argument;
                }
            }
        }
        (arguments, meta)
    }

    /// Types that fields give for other parameters, by folded key.
    fn types(&self, out: &Out<'_>) -> HashMap<String, String> {
        let prefix = self.table.spec.type_prefix.as_str();
        self.typing()
            .filter_map(|r| {
                Some((
                    r.folded.strip_prefix(prefix)?.to_owned(),
                    text(self.table, out, r.field),
                ))
            })
            .collect()
    }

    /// The fields of this call that give the types of others.
    fn typing(&self) -> impl Iterator<Item = &Read<'a>> {
        let prefix = self.table.spec.type_prefix.as_str();
        let mine = |r: &&Read<'a>| r.number.is_none() || r.number == self.number;
        let types = move |r: &&Read<'a>| !prefix.is_empty() && r.folded.starts_with(prefix);
        self.read.iter().filter(mine).filter(types)
    }

    /// Writes one member of the arguments object.
    fn write(
        &self,
        out: &Out<'_>,
        argument: &Argument<'_>,
        tool: Option<&Tool>,
        hints: &HashMap<String, String>,
        json: &mut String,
    ) -> Typed {
        if json.len() > 1 {
            json.push(',');
        }
        json::string(&argument.key, json);
        json.push(':');
        let depth = out.limits().max_depth;
        let value = text(self.table, out, argument.field);
        let folded = fold(&argument.key, &self.table.spec.fold);
        if hints.get(&folded).is_some_and(|hint| hint == "json") {
            return declared_json(value.trim(), depth, json).unwrap_or(Coerced::Malformed.into());
        }
        let schema = out.known(tool.and_then(|tool| tool.schema(&argument.key)));
        if argument.before.is_empty() {
            return typed(&value, schema, out.unknown(), depth, json);
        }
        let mut items: Vec<String> = argument
            .before
            .iter()
            .map(|field| text(self.table, out, field))
            .collect();
        items.push(value);
        repeated(&items, out.known(schema.items.as_deref()), depth, json)
    }
}
