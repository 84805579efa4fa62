//! Parameters between tags.

use std::ops::Range;

use toolglot::json::{Map, Value};

use crate::naive::schema::{self, Typed};

use super::pattern::{self, Fit, Part, Pattern, literal, pattern};
use super::spec::Param;
use super::tree::Tree;
use super::{Place, Stop, Twin};

/// The arguments so far.
#[derive(Default)]
struct Arguments<'s> {
    known: Map,
    /// Parameters that are lists by their schema, with all their texts.
    lists: Vec<List<'s>>,
}

struct List<'s> {
    key: String,
    texts: Vec<String>,
    schema: Option<&'s Value>,
    /// The position after the first of them.
    at: usize,
}

impl<'s> Arguments<'s> {
    fn list(&mut self, key: String, text: String, schema: Option<&'s Value>, at: usize) {
        match self.lists.iter_mut().find(|list| list.key == key) {
            Some(list) => list.texts.push(text),
            None => self.lists.push(List {
                key,
                texts: vec![text],
                schema,
                at,
            }),
        }
    }

    /// A single text is the list; several texts are its items.
    fn whole(mut self, tree: Option<&Tree<'_>>) -> Result<Value, Stop> {
        for list in self.lists {
            let one = |text: &String, schema| {
                let value = match (tree, schema::typed(text, schema)) {
                    (Some(tree), _) => tree.value(text, schema),
                    (None, Typed::Fits(value) | Typed::Mismatch(value)) => Some(value),
                    (None, Typed::Malformed) => None,
                };
                value.ok_or(Stop::Malformed(list.at))
            };
            let value = match list.texts.as_slice() {
                [text] => one(text, list.schema)?,
                texts => {
                    let items = list.schema.and_then(schema::items);
                    let all = texts.iter().map(|text| one(text, items));
                    Value::Array(all.collect::<Result<_, _>>()?)
                }
            };
            self.known.insert(list.key, value);
        }
        Ok(Value::Object(self.known))
    }
}

/// The end of a value.
struct Ended {
    text: String,
    /// Where the block continues.
    next: usize,
}

impl<'a> Twin<'a> {
    /// Reads the parameters of a call and what ends it.
    pub(super) fn params(
        &mut self,
        index: usize,
        fit: &Fit<Place>,
        inside: bool,
    ) -> Result<(usize, Option<Fit<Place>>), Stop> {
        let unit = &self.spec.units[index];
        let param = self.spec.params(self.unit);
        let name = self.tool(index, fit)?;
        let mut arguments = Arguments::default();
        if let Some(tag) = fit.holes.get("tag") {
            let (list, closed) = pattern::attributes(tag);
            if unit.attributes {
                for (key, value) in list.into_iter().filter(|(key, _)| *key != unit.name) {
                    self.set(&name, &mut arguments, key, value, None, fit.end)?;
                }
            }
            if closed {
                self.out
                    .calls
                    .push((name, arguments.whole(self.tree().as_ref())?));
                return Ok((fit.end, None));
            }
        }
        if unit.fix_name {
            self.fix = Some(name.clone());
        }
        self.out.open |= unit.payload == "tree" && self.breaks_between_tags(index, fit.end);
        let stray: Vec<Pattern> = param.close.iter().map(|close| pattern(close)).collect();
        let list = |list: &'a [Pattern], place| list.iter().map(move |p| (p, place));
        // Of equal patterns the first counts.
        let mut places: Vec<_> = list(&self.spec.headers, Place::Header).collect();
        places.extend(self.tail(index));
        places.extend(list(&param.open, Place::Param));
        let tags = self.tags(index);
        let all: Vec<(Pattern, Place)> = places
            .iter()
            .map(|(p, place)| ((*p).clone(), *place))
            .chain(stray.into_iter().map(|p| (p, Place::Stray)))
            .chain(tags.into_iter().map(|p| (p, Place::Unit(index))))
            .chain(self.spec.ends.iter().map(|p| (p.clone(), Place::Turn)))
            .collect();
        let all: Vec<(&Pattern, Place)> = all.iter().map(|(p, place)| (p, *place)).collect();
        let mut at = fit.end;
        let mut some = false;
        // Left to the vectors: words before the first parameter.
        let first = self.input[at..].trim_start().chars().next();
        self.out.open |= first.is_some_and(|c| !"<[]{\"".contains(c));
        loop {
            let fit = match self.walk_on(at, &all) {
                Err(Stop::Cut) if some && self.lacks_closers(index, at) => {
                    let whole = arguments.whole(self.tree().as_ref())?;
                    self.out.calls.push((name, whole));
                    return Err(Stop::Cut);
                }
                fit => fit?,
            };
            let before = some;
            some |= fit.action == Place::Param;
            match fit.action {
                Place::Stray => at = fit.end,
                Place::Param if unit.fix_name && self.is_tool(&name, &fit) => {
                    if before {
                        let whole = arguments.whole(self.tree().as_ref())?;
                        self.out.calls.push((name, whole));
                    }
                    return Err(Stop::Reopen(self.unspaced(at)));
                }
                Place::Param => {
                    at = self.param(&name, &mut arguments, param, &fit, &all, inside)?
                }
                Place::Close | Place::End => {
                    let whole = arguments.whole(self.tree().as_ref()).map_err(|stop| {
                        let ends = self.ends(&fit, inside);
                        if ends { Stop::Ends(fit.end) } else { stop }
                    });
                    self.out.calls.push((name, whole?));
                    return self.behind(at, fit, inside);
                }
                // Only the closer is missing.
                Place::Turn | Place::Header if some => {
                    let whole = arguments.whole(self.tree().as_ref())?;
                    self.out.calls.push((name, whole));
                    return Err(Stop::Reopen(self.unspaced(at)));
                }
                Place::Turn => return Err(Stop::Malformed(fit.end - 1)),
                Place::Header => return Err(Stop::Reopen(self.unspaced(at))),
                // The next call begins: only the closer is missing, or the call has nothing yet and is retracted.
                _ => {
                    if some {
                        let whole = arguments.whole(self.tree().as_ref())?;
                        self.out.calls.push((name, whole));
                    }
                    return self.behind(at, fit, inside);
                }
            }
        }
    }

    /// The tags that end openers of more than a tag: behind a parameter they open the next call even alone.
    fn tags(&self, index: usize) -> Vec<Pattern> {
        let opens = self.spec.units[index].open.iter();
        let tag = |open: &Pattern| {
            let from = open.iter().rposition(|part| *part == Part::Byte(b'<'))?;
            let tag = open[from..].to_vec();
            let whole = tag.contains(&Part::Hole("tag")) && tag.ends_with(&[Part::Byte(b'>')]);
            let other = self.units().iter().any(|(open, _)| **open == tag);
            (from > 0 && whole && !other).then_some(tag)
        };
        opens.filter_map(tag).collect()
    }

    /// Whether an opener or a closer of several tags is incomplete after its first tag, which could belong to a parameter.
    /// Its meaning is left open.
    fn breaks_between_tags(&self, index: usize, from: usize) -> bool {
        let mut places = self.tail(index);
        places.extend(self.units());
        places.iter().any(|(pattern, place)| {
            let spelt = pattern::fixed(pattern, self.fix.as_deref().unwrap_or_default());
            let first = literal(&spelt);
            first.ends_with('>')
                && first.len() < spelt.len()
                && self.input[from..]
                    .match_indices(&first)
                    .any(|(at, _)| self.walk(from + at, &[(&spelt, *place)]).is_err())
        })
    }

    /// How values are made from elements, if they are.
    fn tree(&self) -> Option<Tree<'a>> {
        let param = self.spec.params(self.unit);
        let tree = self.spec.units[self.unit].payload == "tree";
        let fix = self.fix.as_deref().unwrap_or_default();
        tree.then(|| Tree::new(param, &self.opening(), &param.close[0].replace("$x", fix)))
    }

    /// Whether the input ends at `at`, or with the beginning of the call's closer.
    fn lacks_closers(&self, index: usize, at: usize) -> bool {
        let section = self.spec.section.iter().flat_map(|section| &section.close);
        let closers = self.spec.units[index].close.iter().chain(section);
        let closers: Vec<_> = closers.map(|close| (close, Place::Close)).collect();
        matches!(self.walk_on(at, &closers), Err(Stop::Cut))
    }

    /// The opener of a parameter up to its bracket, with `$key` in it.
    fn opening(&self) -> String {
        let param = self.spec.params(self.unit);
        let fix = self.fix.as_deref().unwrap_or_default();
        let mut out = vec![];
        for part in pattern::fixed(&param.open[0], fix) {
            match part {
                pattern::Part::Byte(b'>') if out.ends_with(b"$key") => break,
                pattern::Part::Byte(byte) => out.push(byte),
                pattern::Part::Hole("key") => out.extend(b"$key"),
                _ => {}
            }
        }
        String::from_utf8(out).expect("patterns are text")
    }

    /// Whether the schema says that a parameter is text.
    fn is_text(&self, tool: &str, key: &str) -> bool {
        let known = schema::tool(self.tools, tool).map(schema::params);
        let mut known = known.into_iter().flatten();
        let types = known
            .find(|(name, _)| *name == key)
            .map(|(_, s)| schema::types(s));
        types.is_some_and(|types| types.len() == 1 && types.contains("string"))
    }

    /// Whether a tag belongs to another tool, and not to a parameter.
    fn is_tool(&self, tool: &str, fit: &Fit<Place>) -> bool {
        let key = fit.holes.get("key").map_or("", |key| tag_name(key));
        !self.is_param(tool, fit) && schema::tool(self.tools, key).is_some()
    }

    /// Whether a tag is one of a tool's parameters.
    fn is_param(&self, tool: &str, fit: &Fit<Place>) -> bool {
        let key = fit.holes.get("key").map_or("", |key| tag_name(key));
        let known = schema::tool(self.tools, tool).map(schema::params);
        known.is_some_and(|list| list.iter().any(|(name, _)| *name == key))
    }

    /// Whether any tag may be a parameter.
    fn any_tag(&self) -> bool {
        let mut open = self.spec.params(self.unit).open.iter();
        open.any(|open| {
            let mut parts = open.iter().filter(|part| **part != Part::Hole("x"));
            parts.next() == Some(&Part::Byte(b'<')) && parts.next() == Some(&Part::Hole("key"))
        })
    }

    /// Whether a tag is not one of the parameters of a tool that has some, nor another tool.
    fn foreign(&self, tool: &str, fit: &Fit<Place>) -> bool {
        let key = fit.holes.get("key").map_or("", |key| tag_name(key));
        let known = schema::tool(self.tools, tool)
            .map(schema::params)
            .unwrap_or_default();
        let tool = schema::tool(self.tools, key).is_some();
        !known.is_empty() && !tool && known.iter().all(|(name, _)| *name != key)
    }

    /// Whether a block ends there.
    fn ends(&self, fit: &Fit<Place>, inside: bool) -> bool {
        fit.action == Place::End || fit.action == Place::Close && !inside
    }

    /// The position after the tag that ends a parameter's opener, if that tag is repeated.
    fn behind_openers(&self, param: &Param, at: usize) -> usize {
        let spelt = pattern::fixed(&param.open[0], self.fix.as_deref().unwrap_or_default());
        let begins = spelt.iter().rposition(|part| *part == Part::Byte(b'<'));
        let bytes = begins.filter(|at| *at > 0).map(|at| {
            let byte = |part: &Part| match part {
                Part::Byte(byte) => Some(*byte),
                _ => None,
            };
            spelt[at..].iter().map(byte).collect::<Option<Vec<u8>>>()
        });
        let tag = bytes.flatten().filter(|tag| {
            let plain = !tag.contains(&b'=') && !tag.contains(&b' ');
            plain && tag.len() > 2 && tag[1] != b'/' && tag.ends_with(b">")
        });
        let tag = tag.filter(|_| param.close[0].starts_with('<'));
        let mut at = at;
        while let Some(tag) = tag
            .as_ref()
            .filter(|tag| self.input.as_bytes()[at..].starts_with(tag))
        {
            at += tag.len();
        }
        at
    }

    fn param(
        &mut self,
        tool: &str,
        arguments: &mut Arguments<'a>,
        param: &Param,
        fit: &Fit<Place>,
        all: &[(&Pattern, Place)],
        inside: bool,
    ) -> Result<usize, Stop> {
        let quote = self.quote.take();
        let (attributes, mut closed) = match fit.holes.get("tag") {
            Some(tag) => pattern::attributes(tag),
            None => (vec![], false),
        };
        let attribute = |name: &str| {
            let found = attributes.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        };
        let key = fit.holes.get("key").cloned();
        let key = key.or_else(|| attribute(&param.name)).unwrap_or_default();
        let mut key = key.trim_end().to_owned();
        if param.close.iter().any(|close| close.contains("$key")) {
            // The name of a tag, with or without attributes.
            closed = key.ends_with('/');
            key = tag_name(&key).to_owned();
            if key.is_empty() {
                return Err(Stop::Malformed(fit.end));
            }
        }
        key = key.trim_start().to_owned();
        // A word of blanks is not a key.
        if key.is_empty() && fit.holes.contains_key("key") {
            return Err(Stop::Malformed(fit.end));
        }
        let told = param.hint.as_ref().and_then(|hint| match &hint.attribute {
            Some(name) => attribute(name),
            None => fit.holes.get("type").cloned(),
        });
        let value = if closed {
            Ended {
                text: String::new(),
                next: fit.end,
            }
        } else {
            let from = self.behind_openers(param, fit.end);
            self.spoken(from, quote)?;
            let value = self.value(tool, &key, from, all);
            let to = match &value {
                Ok(value) => Some(value.next),
                Err(Stop::RunsOn) => Some(self.input.len()),
                Err(_) => None,
            };
            self.out.open |= to.is_some_and(|to| self.may_end_earlier(tool, &key, from..to, all));
            self.out.open |= matches!(value, Err(Stop::RunsOn)) && self.ends_in_closer();
            value?
        };
        if !key.is_empty() {
            let set = self.set(tool, arguments, key, value.text, told, value.next);
            if let Err(stop) = set {
                // What confirmed the closer may have ended the block.
                return match self.walk_on(value.next, all) {
                    Ok(fit) if self.ends(&fit, inside) => Err(Stop::Ends(fit.end)),
                    _ => Err(stop),
                };
            }
        }
        Ok(value.next)
    }

    /// Whether the input ends with a closer of the call or its section: whether it ends an open value, too, is left open.
    fn ends_in_closer(&self) -> bool {
        let section = self.spec.section.iter().flat_map(|section| &section.close);
        let mut closers = self.spec.units[self.unit].close.iter().chain(section);
        let text = self.input.trim_end().as_bytes();
        let fix = self.fix.as_deref().unwrap_or_default();
        closers.any(|close| {
            let spelt = pattern::fixed(close, fix);
            let bytes = spelt.iter().rev().map_while(|part| match part {
                Part::Byte(byte) => Some(byte),
                _ => None,
            });
            bytes
                .zip(text.iter().rev())
                .all(|(one, other)| one == other)
        })
    }

    /// Whether a value may end within `range`, which is left open: at a closer, or one without its last byte before a tag, if a
    /// marker follows within 64 bytes; or at the end of its call, if another call with a parameter follows.
    fn may_end_earlier(
        &self,
        tool: &str,
        key: &str,
        range: Range<usize>,
        all: &[(&Pattern, Place)],
    ) -> bool {
        let param = self.spec.params(self.unit);
        let fix = self.fix.as_deref().unwrap_or_default();
        let spelt = |close: &String| close.replace("$x", fix).replace("$key", key);
        let closers: Vec<String> = param.close.iter().map(spelt).collect();
        let text = &self.input[range.clone()];
        // Closers in CDATA are content, and so is one behind another parameter's opener.
        let cdata = param.cdata && text.starts_with("<![CDATA[");
        let begins = text.find("]]>").filter(|_| cdata).unwrap_or(0);
        let openers = match self.spec.units[self.unit].fix_name {
            true => {
                let known = schema::tool(self.tools, tool).map(schema::params);
                let names = known.into_iter().flatten().map(|(name, _)| name);
                let others = names.filter(|name| *name != key);
                let tag = |name: &str| format!("{}>", self.opening().replace("$key", name));
                others.map(tag).collect()
            }
            false => vec![literal(&pattern::fixed(&param.open[0], fix))],
        };
        // After the first closer openers are in place.
        let first = closers.iter().filter_map(|close| text.find(close)).min();
        let mixed = |at: usize| {
            let text = &text[..first.unwrap_or(at).min(at)];
            openers.iter().any(|open| {
                // A tag needs a blank before its attributes.
                let begun = !open.ends_with(['>', '=']);
                let mut rests = text
                    .match_indices(open)
                    .map(|(at, _)| &text[at + open.len()..]);
                rests.any(|rest| !begun || rest.starts_with(char::is_whitespace))
            })
        };
        let slips = |close: &String| {
            let last = close.char_indices().next_back().map_or(0, |(at, _)| at);
            let (half, last) = close.split_at(last);
            !half.is_empty()
                && text.match_indices(half).any(|(at, _)| {
                    if at < begins || mixed(at) {
                        return false;
                    }
                    let end = range.start + at + half.len();
                    let whole = self.input[end..].starts_with(last);
                    let end = end + if whole { last.len() } else { 0 };
                    let tag = self.input[self.unspaced(end)..].starts_with('<');
                    end < range.end
                        && (whole || tag)
                        && self.marker_follows(tool, end, &closers, all)
                })
        };
        param.confirm > 0 && closers.iter().any(slips)
            || !self.spec.units[self.unit].fix_name && self.call_follows(range, all)
    }

    /// Whether a marker within 64 bytes of `end` shows that a value ended there.
    fn marker_follows(
        &self,
        tool: &str,
        end: usize,
        closers: &[String],
        all: &[(&Pattern, Place)],
    ) -> bool {
        let rest = &self.input[end..];
        if self.unspaced(end) - end > self.spec.params(self.unit).confirm {
            return false;
        }
        let closes = |at: usize| closers.iter().any(|c| rest[at..].starts_with(c.as_str()));
        let near = rest.char_indices().map(|(at, _)| at);
        let mut fits = near
            .take_while(|at| rest[..*at].trim_end().len() <= 64 && !closes(*at))
            .filter_map(|at| Some((at, self.walk(end + at, all).ok()?)));
        let Some((at, fit)) = fits.next() else {
            return false;
        };
        let between = &rest[..at];
        let words = between
            .chars()
            .any(|c| c.is_alphanumeric() || !c.is_ascii());
        match fit.action {
            _ if between.trim().is_empty() => fit.action != Place::Stray,
            // Any tag may be a parameter there.
            Place::Param => !self.any_tag() || self.is_param(tool, &fit),
            Place::Close | Place::End => {
                !words || between.contains('\n') || !between.contains(char::is_whitespace)
            }
            Place::Unit(_) | Place::Reopen | Place::Header => {
                between[between.trim_end().len()..].contains('\n')
            }
            Place::Section | Place::Separator | Place::Stray | Place::Further | Place::Turn => {
                false
            }
        }
    }

    /// Whether the end of the call is in a value, and after it another call with a parameter.
    fn call_follows(&self, range: Range<usize>, all: &[(&Pattern, Place)]) -> bool {
        let fix = self.fix.as_deref().unwrap_or_default();
        let opener = literal(&pattern::fixed(&self.spec.params(self.unit).open[0], fix));
        let closers = self.call_closers();
        let text = &self.input[range.clone()];
        let ends = |close: &String| text.find(close).map(|at| at + close.len());
        let Some(end) = closers.iter().filter_map(ends).min() else {
            return false;
        };
        let mut places = text.char_indices().map(|(at, _)| at);
        places.any(|at| {
            let before = text[..at].trim_end();
            let here = text[before.len()..at].contains('\n')
                || closers.iter().any(|close| before.ends_with(close));
            // A value may also end before the line of that parameter.
            let begins = |at: usize| {
                let param = self.input[at..].find(&opener);
                param.is_some_and(|len| len <= 272 && at + len <= range.end + 1)
            };
            let at = range.start + at;
            at >= range.start + end
                && here
                && begins(at)
                && self
                    .walk(at, all)
                    .is_ok_and(|fit| matches!(fit.action, Place::Unit(_) | Place::Reopen))
        })
    }

    /// Converts an argument to its type.
    fn set(
        &self,
        tool: &str,
        arguments: &mut Arguments<'a>,
        key: String,
        text: String,
        told: Option<String>,
        at: usize,
    ) -> Result<(), Stop> {
        let param = self.spec.params(self.unit);
        let hint = param.hint.as_ref();
        let json = |text: &str| {
            let value = toolglot_testkit::vectors::value(text.trim()).ok();
            value.unwrap_or_else(|| Value::String(text.to_owned()))
        };
        let schema = schema::tool(self.tools, tool)
            .map(schema::params)
            .and_then(|list| list.into_iter().find(|(name, _)| *name == key))
            .map(|(_, schema)| schema);
        let value = match (hint, told) {
            (Some(hint), Some(word))
                if hint
                    .text
                    .iter()
                    .any(|text| text.eq_ignore_ascii_case(&word)) =>
            {
                Value::String(text)
            }
            (Some(_), Some(_)) => {
                // What is no JSON may be what the schema reads.
                let types = schema.map(schema::types).unwrap_or_default();
                let known = !types.is_empty() && !types.contains("string");
                let no_json = toolglot_testkit::vectors::value(text.trim()).is_err();
                match schema::typed(&text, schema) {
                    Typed::Fits(value) if known && no_json => value,
                    _ => json(&text),
                }
            }
            (_, _) => {
                if schema::is_list(schema) {
                    arguments.list(key, text, schema, at);
                    return Ok(());
                }
                if let Some(tree) = self.tree() {
                    let types = schema.map(schema::types).unwrap_or_default();
                    let is_text = types.len() == 1 && types.contains("string");
                    let value = match is_text {
                        true => Some(Value::String(tree.text(&text))),
                        false => tree.value(&text, schema),
                    };
                    arguments.lists.retain(|list| list.key != key);
                    arguments
                        .known
                        .insert(key, value.ok_or(Stop::Malformed(at))?);
                    return Ok(());
                }
                let newline = param.newline.contains(&key);
                let text = if param.frame == "trim" && !newline {
                    text.trim()
                } else {
                    &text
                };
                let unknown = schema.is_none_or(|schema| schema::types(schema).is_empty());
                match schema::typed(text, schema) {
                    Typed::Fits(value) if unknown && self.spec.untyped_is_json => {
                        let json = toolglot_testkit::vectors::value(text.trim()).ok();
                        json.filter(|json| !json.is_string()).unwrap_or(value)
                    }
                    Typed::Fits(value) | Typed::Mismatch(value) => value,
                    Typed::Malformed => return Err(Stop::Malformed(at)),
                }
            }
        };
        arguments.lists.retain(|list| list.key != key);
        arguments.known.insert(key, value);
        Ok(())
    }

    /// Reads the value that begins at `from`.
    fn value(
        &self,
        tool: &str,
        key: &str,
        from: usize,
        all: &[(&Pattern, Place)],
    ) -> Result<Ended, Stop> {
        let param = self.spec.params(self.unit);
        let input = self.input;
        let fix = self.fix.as_deref().unwrap_or_default();
        let spelt = |close: &String| close.replace("$x", fix).replace("$key", key);
        let closers: Vec<String> = param.close.iter().map(spelt).collect();
        let named = self.spec.units[self.unit].fix_name;
        let frame = if param.newline.iter().any(|name| name == key) {
            "newline"
        } else {
            &param.frame
        };
        // Up to here, bytes after a closer turned out to be content; lines in them have no meaning.
        let mut seen = from;
        // The value may begin with CDATA; closers in it are text.
        let cdata = param.cdata && input[from..].starts_with("<![CDATA[");
        let (inner, from) = match input[from..].find("]]>").filter(|_| cdata) {
            Some(len) => (&input[from + 9..from + len], from + len + 3),
            None if cdata => return Err(Stop::Cut),
            None => ("", from),
        };
        // Elements with the parameter's own name nest.
        let own = format!("{}>", self.opening().replace("$key", key));
        let nests = self.tree().is_some() && !self.is_text(tool, key);
        let mut depth = 0_usize;
        let mut last = input.len();
        for at in (from..input.len()).filter(|at| input.is_char_boundary(*at)) {
            let close = closers.iter().find(|c| input[at..].starts_with(c.as_str()));
            if nests && input[at..].starts_with(&own) {
                depth += 1;
            }
            if close.is_some() && depth > 0 {
                depth -= 1;
                continue;
            }
            if let Some(close) = close {
                let next = at + close.len();
                let unspaced = self.unspaced(next);
                let blanks = unspaced - next;
                // All arguments as an object, after one of them.
                if param.confirm > 0
                    && blanks <= param.confirm
                    && input[unspaced..].starts_with('{')
                {
                    return Err(Stop::Malformed(unspaced));
                }
                let fits = blanks <= param.confirm
                    && match self.walk_on(next, all) {
                        Ok(fit) if matches!(fit.action, Place::Param | Place::Stray) => {
                            let own = fit.action == Place::Stray && !named && !nests;
                            let inner = own && encloses(&input[from..at], close);
                            !(inner || named && self.foreign(tool, &fit))
                        }
                        Ok(_) => true,
                        // Otherwise it may be content, if another closer follows.
                        Err(Stop::Cut) => {
                            // With more text it might be the value's own closer.
                            last = last.min(at);
                            self.lacks_closers(self.unit, next)
                        }
                        Err(Stop::Malformed(broken)) => {
                            seen = broken;
                            false
                        }
                        Err(_) => false,
                    };
                if fits || param.confirm == 0 {
                    let text = format!("{inner}{}", framed(frame, &input[from..at]));
                    return Ok(Ended { text, next });
                }
            }
            // A closer without its last byte counts directly before a marker.
            let half = |close: &&String| {
                let whole = input[at..].starts_with(close.as_str());
                !whole && close.ends_with('>') && input[at..].starts_with(&close[..close.len() - 1])
            };
            if let Some(close) = closers.iter().find(half).filter(|_| param.confirm > 0) {
                let next = at + close.len() - 1;
                let begins = self.unspaced(next);
                let fit = self.walk(begins, all).ok();
                let fit = fit.filter(|fit| fit.action != Place::Stray);
                let ends = fit.is_some_and(|fit| {
                    !(named && fit.action == Place::Param && self.foreign(tool, &fit))
                });
                if ends && depth == 0 && input[begins..].starts_with('<') {
                    let text = format!("{inner}{}", framed(frame, &input[from..at]));
                    return Ok(Ended { text, next });
                }
            }
            let line = format!("\n{}", literal(&param.open[0]));
            if param.line && input[at..].starts_with(&line) && at + line.len() > seen {
                // Its newline does not belong to a value.
                let text = &input[from..at];
                let text = match text.starts_with("\r\n") || text.starts_with('\n') {
                    true if frame == "newline" => framed(frame, &input[from..=at]),
                    _ => text.to_owned(),
                };
                return Ok(Ended { text, next: at });
            }
        }
        Err(self.cut_value(from..last, &closers))
    }
}

/// Whether a text has opened an element that a tag would close. A tag has nothing but a name, or attributes with values.
fn encloses(text: &str, close: &str) -> bool {
    let Some(name) = close.strip_prefix("</").and_then(|c| c.strip_suffix('>')) else {
        return false;
    };
    let open = format!("<{name}");
    let opens = |(at, _): &(usize, &str)| {
        let rest = &text[at + open.len()..];
        let Some(end) = rest
            .find(['>', '<'])
            .filter(|end| rest[*end..].starts_with('>'))
        else {
            return false;
        };
        let tag = &rest[..end];
        let spaced = tag.starts_with(char::is_whitespace);
        tag.is_empty() || spaced && !tag.ends_with('/') && tag.contains('=')
    };
    let opened = text.match_indices(&open).filter(opens).count();
    opened > text.matches(close).count()
}

/// The part of the text between the tags that is the value.
fn framed(frame: &str, text: &str) -> String {
    let inner = match frame {
        "newline" => match text.strip_prefix("\r\n").or(text.strip_prefix('\n')) {
            Some(rest) => {
                let end = rest
                    .strip_suffix("\r\n")
                    .or_else(|| rest.strip_suffix('\n'));
                end.unwrap_or(rest)
            }
            None => text,
        },
        _ => text,
    };
    inner.to_owned()
}

/// The name in a tag named after its parameter, without attributes; empty if it is not a name.
pub fn tag_name(inside: &str) -> &str {
    let inside = inside.trim_end_matches('/');
    let name = inside
        .split([' ', '\t', '\n', '\r'])
        .next()
        .unwrap_or_default();
    let first = |c: char| c.is_alphabetic() || c == '_';
    let other = |c: char| !c.is_control() && !"\"'`=/&".contains(c);
    if name.starts_with(first) && name.chars().all(other) {
        name
    } else {
        ""
    }
}
