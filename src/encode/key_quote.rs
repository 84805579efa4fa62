//! `key:「始」value「末」` fields between two markers: one block for several calls if a numbered chain can express them.
//!
//! Nothing inside a value is escaped, so what a value may contain depends on its quotes: the first suitable pair is used.

use std::collections::{BTreeSet, HashMap, HashSet};

use toolglot_scan::Case;

use super::error::{Fault, Reason};
use super::text::{find_all, spellings, texts};
use super::{Ctx, Item, Written, fits};
use crate::body::{Key, WINDOW, before_key, begins_inside, doubts, is_key, split};
use crate::dialect::KeyQuote;
use crate::dialect::bounds::LINE_BLANKS;
use crate::dialect::spec::fold;
use crate::dialect::spec::{CommentAt, Fold, Quote, Trim};

pub(super) fn encode(ctx: &Ctx<'_>, table: &KeyQuote, items: &[Item<'_>]) -> Written {
    if items.len() > 1 && items.len() <= ctx.limits.max_chain as usize {
        let numbered: Vec<_> = (1_u32..)
            .zip(items)
            .map(|(n, item)| (item, Some(n)))
            .collect();
        if let Some(block) = chain(ctx, table, &numbered) {
            return Ok(vec![block]);
        }
    }
    let one = |item: &Item<'_>| {
        let fields = fields(ctx, table, item, None).and_then(|fields| {
            reads(table, &fields)?;
            join(ctx, table, &fields)
        });
        fields.map_err(|fault| (item.index, fault))
    };
    items.iter().map(one).collect()
}

/// Several calls as one numbered chain, if the dialect has chains and each call fits.
fn chain(ctx: &Ctx<'_>, table: &KeyQuote, items: &[(&Item<'_>, Option<u32>)]) -> Option<String> {
    let spec = &table.spec;
    let chain = fold(spec.chain.as_deref()?, &spec.fold);
    let (first, _) = items.first()?;
    let by_name = chain == fold(&spec.name, &spec.fold);
    // Calls that share the tool need the numbered key among their arguments.
    let has = |item: &Item<'_>| {
        item.arguments()
            .any(|(key, _)| fold(key, &spec.fold) == chain)
    };
    if !by_name
        && !items
            .iter()
            .all(|(item, _)| item.name == first.name && has(item))
    {
        return None;
    }
    let mut all = vec![];
    for (item, number) in items {
        let mut mine = fields(ctx, table, item, *number).ok()?;
        if !by_name && !all.is_empty() {
            // The tool is named only once.
            mine.remove(0);
        }
        all.append(&mut mine);
    }
    // The digits belong to a key that is only with them a parameter, of its own call's tool or of another's, which would take it.
    let fold_it = |name: &str| fold(name, &spec.fold);
    let tools = items.iter().filter_map(|(item, _)| item.tool);
    let params: Vec<_> = tools.map(|tool| tool.folded(fold_it)).collect();
    let taken = |field: &Field| {
        let (whole, base) = (fold_it(&field.key), fold_it(&field.base));
        let takes = |key: &String| {
            params
                .iter()
                .any(|all| all.contains_key(&whole) && !all.contains_key(key))
        };
        base != chain && takes(&base)
    };
    if all
        .iter()
        .any(|field| field.number.is_some() && taken(field))
    {
        return None;
    }
    reads(table, &all).ok()?;
    join(ctx, table, &all).ok()
}

/// A field as it will be written, and as it must be read back.
struct Field {
    key: String,
    /// The key from which the number is to be read, and the number.
    base: String,
    number: Option<u32>,
    /// Its tool is declared with a parameter of that name.
    known: bool,
    /// Opener, value, closer.
    value: String,
}

impl Field {
    fn new(table: &KeyQuote, key: &str, number: Option<u32>, value: String) -> Self {
        let infix = &table.spec.chain_infix;
        let written = number.map_or(key.to_owned(), |n| format!("{key}{infix}{n}"));
        Self {
            key: written,
            base: key.to_owned(),
            number,
            known: false,
            value,
        }
    }
}

/// The fields of one call.
fn fields(
    ctx: &Ctx<'_>,
    table: &KeyQuote,
    item: &Item<'_>,
    number: Option<u32>,
) -> Result<Vec<Field>, Fault> {
    let spec = &table.spec;
    let chain = spec.chain.as_deref().map(|chain| fold(chain, &spec.fold));
    let by_name = chain.as_deref() == Some(&fold(&spec.name, &spec.fold));
    let name = quoted(ctx, table, item.name)?;
    let named = number.filter(|_| by_name);
    let mut out = vec![Field::new(table, &spec.name, named, name)];
    let mut seen: HashMap<String, &str> = HashMap::new();
    let params = item
        .tool
        .map(|tool| tool.folded(|name| fold(name, &spec.fold)));
    let params = params.unwrap_or_default();
    for (key, node) in item.arguments() {
        let fault = |reason| Fault::at(key, reason);
        key_fits(table, item, key).map_err(|why| fault(Reason::Key { why }))?;
        if seen.insert(fold(key, &spec.fold), key).is_some() {
            let why = "another parameter has the same name once it is folded";
            return Err(fault(Reason::Key { why }));
        }
        let plain = texts(&item.doc, node, item.schema(key), |text| {
            quoted(ctx, table, text)
        });
        let value = match plain {
            Ok(value) => value,
            // A string that no quotes can hold may be possible as JSON.
            Err(_) if hints(table, key) => {
                let hint = format!("{}{key}", spec.type_prefix);
                let json = quoted(ctx, table, "json").map_err(fault)?;
                out.push(Field::new(table, &hint, number, json));
                spellings(&item.doc, node, |text| quoted(ctx, table, text)).map_err(fault)?
            }
            Err(reason) => return Err(fault(reason)),
        };
        let mut field = Field::new(table, key, number, value);
        field.known = params.contains_key(&fold(key, &spec.fold));
        out.push(field);
    }
    if out.len() > ctx.limits.max_params as usize {
        return Err(Reason::Limit {
            limit: "max_params",
        }
        .into());
    }
    Ok(out)
}

/// Whether a field can declare that the value of this parameter is JSON.
fn hints(table: &KeyQuote, key: &str) -> bool {
    let spec = &table.spec;
    let written = fold(&format!("{}{key}", spec.type_prefix), &spec.fold);
    !spec.type_prefix.is_empty()
        && written.strip_prefix(spec.type_prefix.as_str()) == Some(&fold(key, &spec.fold))
}

/// Whether a parameter of that name can be a field and reads back under the same name.
fn key_fits(table: &KeyQuote, item: &Item<'_>, key: &str) -> Result<(), &'static str> {
    let spec = &table.spec;
    let folded = fold(key, &spec.fold);
    let starts = |prefix: &str| !prefix.is_empty() && folded.starts_with(prefix);
    let listed = |list: &[String]| list.iter().any(|have| fold(have, &spec.fold) == folded);
    let comment = spec.comment.as_ref().is_some_and(|comment| {
        let here = matches!(comment.at, CommentAt::Anywhere | CommentAt::LineStart);
        here && comment.open.chars().next() == key.chars().next()
    });
    if key.is_empty() || !key.chars().all(is_key) || comment {
        return Err("a key is made of letters, digits, `_`, `-` and `.`");
    }
    if folded == fold(&spec.name, &spec.fold) {
        return Err("the field of this name names the tool");
    }
    if starts(&spec.type_prefix) || starts(&spec.shared_prefix) {
        return Err("its prefix means something in this dialect");
    }
    if listed(&spec.meta) || listed(&spec.ignore) {
        return Err("fields with this name are not arguments");
    }
    let fold_it = |name: &str| fold(name, &spec.fold);
    let params = item
        .tool
        .map(|tool| tool.folded(fold_it))
        .unwrap_or_default();
    let known = item.tool.and_then(|tool| tool.param(key)).is_some();
    match params.get(&folded) {
        Some(_) if known => {}
        Some(param) if param.name != key => {
            return Err("the tool has a parameter of another spelling, which would be used");
        }
        Some(_) => {}
        None if spec.fold.contains(&Fold::Punctuation) && folded != key => {
            return Err("it comes back in its folded spelling");
        }
        None => {}
    }
    Ok(())
}

/// Checks that numbers are read from the keys as intended.
fn reads(table: &KeyQuote, fields: &[Field]) -> Result<(), Fault> {
    let spec = &table.spec;
    let chain = spec.chain.as_deref().map(|chain| fold(chain, &spec.fold));
    let mut numbers = BTreeSet::new();
    for field in fields.iter().filter(|_| chain.is_some()) {
        let mine = |(base, _): &(&str, u32)| chain.as_deref() == Some(&fold(base, &spec.fold));
        numbers.extend(split(&field.key, spec).find(mine).map(|(_, number)| number));
    }
    let meant: BTreeSet<u32> = fields.iter().filter_map(|field| field.number).collect();
    let bases: Vec<String> = fields.iter().map(|f| fold(&f.base, &spec.fold)).collect();
    let keys = fields.iter().zip(&bases).map(|(field, base)| Key {
        whole: &field.key,
        base,
        number: field.number,
    });
    let doubt = doubts(spec, &numbers, &keys.collect::<Vec<_>>());
    if let Some(field) = doubt.iter().map(|index| &fields[*index]).find(|f| !f.known) {
        let why = "the number at its end may be that of a step";
        return Err(Fault::at(&field.base, Reason::Key { why }));
    }
    let mut seen = HashSet::new();
    for field in fields {
        let found = split(&field.key, spec).find(|(_, number)| numbers.contains(number));
        let read = found.map_or((field.key.as_str(), None), |(base, n)| (base, Some(n)));
        let twice = !seen.insert((fold(&field.base, &spec.fold), field.number));
        if numbers != meant || read != (field.base.as_str(), field.number) || twice {
            let why = "the number at its end would make a chain";
            return Err(Fault::at(&field.base, Reason::Key { why }));
        }
    }
    Ok(())
}

/// The block of all fields.
fn join(ctx: &Ctx<'_>, table: &KeyQuote, fields: &[Field]) -> Result<String, Fault> {
    let spec = &table.spec;
    let mut out = format!("{}\n", first(&spec.open));
    for (index, field) in fields.iter().enumerate() {
        if field.key.len() > ctx.limits.max_name as usize {
            return Err(Fault::at(&field.base, Reason::Limit { limit: "max_name" }));
        }
        let ignore = spec.case == Case::Ignore;
        let marks = || spec.open.iter().chain(&spec.close);
        if marks().any(|mark| find_all(&field.key, mark, ignore).next().is_some()) {
            let why = "it holds a marker of the block";
            return Err(Fault::at(&field.base, Reason::Key { why }));
        }
        let last = index + 1 == fields.len();
        let separator = match last || !spec.separated {
            true => "",
            false => first(&spec.separators),
        };
        let (key, colon, value) = (&field.key, first(&spec.colon), &field.value);
        out.push_str(&format!("{key}:{value}{separator}\n").replacen(':', colon, 1));
    }
    out.push_str(first(&spec.close));
    Ok(out)
}

fn first(list: &[String]) -> &str {
    list.first().map_or("", String::as_str)
}

/// A text in the first quotes that can hold it.
fn quoted(ctx: &Ctx<'_>, table: &KeyQuote, text: &str) -> Result<String, Reason> {
    if table.spec.trim == Trim::Ends && text.trim() != text {
        return Err(Reason::Blanks);
    }
    let mut refused = None;
    for quote in &table.spec.quotes {
        for written in ways(quote, text) {
            fits(ctx, &written)?;
            match holds(ctx, table, quote, &written) {
                Ok(()) => {
                    return Ok(format!(
                        "{}{written}{}",
                        first(&quote.open),
                        first(&quote.close)
                    ));
                }
                Err(reason) => refused.get_or_insert(reason),
            };
        }
    }
    Err(refused.unwrap_or(Reason::Untyped))
}

/// The spellings of a text between quotes: with the replacements that reading restores, and as it is.
fn ways(quote: &Quote, text: &str) -> Vec<String> {
    let restored = |text: &str| {
        let mut text = text.to_owned();
        for [from, to] in &quote.restore {
            text = text.replace(from, to);
        }
        text
    };
    let mut spelled = text.to_owned();
    for [from, to] in &quote.restore {
        spelled = spelled.replace(to, from);
    }
    let mut out = vec![spelled, text.to_owned()];
    out.dedup();
    // They must restore to the text; they do not if the text contains the replacement itself.
    out.retain(|way| restored(way) == text);
    if out.is_empty() {
        return vec![];
    }
    out
}

/// Checks that a text between these quotes ends where it should.
fn holds(ctx: &Ctx<'_>, table: &KeyQuote, quote: &Quote, text: &str) -> Result<(), Reason> {
    let spec = &table.spec;
    let marker = |marker: &str| Reason::Marker {
        marker: marker.to_owned(),
    };
    let ignore = quote.case == Case::Ignore;
    let whole = format!("{text}{}", first(&quote.close));
    // An opener after the value's own, with nothing but white space between, is a doubled opener.
    let doubles = |open: &&String| {
        let at = find_all(text, open, ignore).next();
        at.is_some_and(|at| text[..at].trim().is_empty())
    };
    if let Some(open) = quote.open.iter().find(doubles) {
        return Err(marker(open));
    }
    // The closer that ends first, and of those the longest, must be the one after the text.
    let ends = quote.close.iter().flat_map(|close| {
        find_all(&whole, close, ignore).map(move |at| (at + close.len(), at, close))
    });
    match ends.min_by_key(|(end, at, _)| (*end, *at)) {
        Some((_, at, _)) if at == text.len() => {}
        Some((_, _, close)) => return Err(marker(close)),
        None => return Err(marker(first(&quote.close))),
    }
    for close in &quote.loose_close {
        let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b',' | 0xef | 0xbc | 0x8c);
        let ends_line = |at: usize| {
            let after = &whole.as_bytes()[at + close.len()..];
            let blanks = after.iter().take_while(|b| blank(b)).count();
            blanks <= LINE_BLANKS as usize && after.get(blanks) == Some(&b'\n')
        };
        if find_all(&whole, close, ignore).any(ends_line) {
            return Err(marker(close));
        }
    }
    let param = |key: &str| ctx.tools.is_some_and(|tools| tools.takes(key));
    let others = spec.quotes.iter().filter(|other| quote.minds(other));
    let mut swallows = others.flat_map(|other| {
        let ignore = other.case == Case::Ignore;
        other.open.iter().filter(move |open| {
            find_all(text, open, ignore).any(|at| {
                let from = (at + open.len()).saturating_sub(WINDOW).min(at);
                begins_inside(spec, &text.as_bytes()[from..at], param)
            })
        })
    });
    if let Some(open) = swallows.next() {
        return Err(marker(open));
    }
    if quote.protect {
        return Ok(());
    }
    if spec.key_line_ends_value
        && openers(table, &whole).any(|at| begins_field(table, &whole[..at]))
    {
        return Err(Reason::Marker {
            marker: "a line that begins like a field".to_owned(),
        });
    }
    // The block's closer is content if the value's own closer follows soon, without a field before it.
    let block = spec.close.iter().flat_map(|close| {
        find_all(text, close, spec.case == Case::Ignore).map(move |at| (at + close.len(), close))
    });
    let Some((end, close)) = block.min_by_key(|(end, _)| *end) else {
        return Ok(());
    };
    let lookahead = ctx.limits.max_lookahead as usize;
    let field = openers(table, &whole).any(|at| at >= end);
    if field || whole.len() - end > lookahead {
        return Err(marker(close));
    }
    Ok(())
}

/// The positions of value openers in a text.
fn openers<'t>(table: &'t KeyQuote, text: &'t str) -> impl Iterator<Item = usize> + 't {
    let quotes = table.spec.quotes.iter();
    quotes.flat_map(move |quote| {
        let ignore = quote.case == Case::Ignore;
        quote
            .open
            .iter()
            .flat_map(move |open| find_all(text, open, ignore))
    })
}

/// Whether the text before a value's opener is the beginning of a field on its own line.
fn begins_field(table: &KeyQuote, before: &str) -> bool {
    before_key(&table.spec, before)
        .is_some_and(|rest| rest.trim_end_matches([' ', '\t']).ends_with('\n'))
}
