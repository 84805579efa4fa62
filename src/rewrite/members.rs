//! Members of objects as JSON text: they are parsed only if necessary, and numbers keep their spelling.

use crate::source::json::Node;

/// The members of an object, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    /// Sets a member to a JSON text.
    pub fn set(&mut self, key: &str, json: &str) {
        match self.0.iter_mut().find(|(have, _)| have == key) {
            Some((_, value)) => json.clone_into(value),
            None => self.0.push((key.to_owned(), json.to_owned())),
        }
    }

    /// Sets a member to a string.
    pub fn text(&mut self, key: &str, text: &str) {
        self.set(key, &string(text));
    }

    /// Sets all members of another object.
    pub fn add(&mut self, other: &Self) {
        for (key, json) in &other.0 {
            self.set(key, json);
        }
    }

    /// Sets all members of another object, except `null` ones that already have a value here.
    pub fn add_some(&mut self, other: &Self) {
        for (key, json) in &other.0 {
            if json != "null" || !self.has(key) {
                self.set(key, json);
            }
        }
    }

    /// Whether it has a member.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(have, _)| have == key)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all members are `null`.
    pub fn is_null(&self) -> bool {
        self.0.iter().all(|(_, json)| json == "null")
    }

    /// The object, on one line.
    pub fn json(&self) -> String {
        let mut out = String::from("{");
        self.write(&mut out);
        out.push('}');
        out
    }

    /// The text of an object with these members appended.
    pub fn spliced(&self, object: &str) -> String {
        let Some(open) = object.strip_suffix('}') else {
            return object.to_owned();
        };
        let mut out = open.to_owned();
        if open != "{" && !self.is_empty() {
            out.push(',');
        }
        self.write(&mut out);
        out.push('}');
        out
    }

    fn write(&self, out: &mut String) {
        for (at, (key, json)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&string(key));
            out.push(':');
            out.push_str(&one_line(json));
        }
    }
}

/// Members that arrive in pieces, as in chunks.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces(Vec<(String, Vec<String>)>);

impl Pieces {
    /// Adds the members of the next chunk.
    pub fn add(&mut self, members: &Members) {
        for (key, json) in &members.0 {
            match self.0.iter_mut().find(|(have, _)| have == key) {
                Some((_, pieces)) => pieces.push(json.clone()),
                None => self.0.push((key.clone(), vec![json.clone()])),
            }
        }
    }

    /// Joins the pieces as the protocol defines: lists are concatenated, and so are strings if `texts` is set; objects are
    /// joined member by member; of anything else the last one counts. Linear in all pieces.
    pub fn joined(&self, texts: bool) -> Members {
        let whole = |(key, pieces): &(String, Vec<String>)| {
            let pieces = pieces.iter().map(String::as_str).collect();
            (key.clone(), join(pieces, texts, 1))
        };
        Members(self.0.iter().map(whole).collect())
    }
}

/// Joins the pieces of one value; objects are joined up to this depth.
fn join(mut pieces: Vec<&str>, texts: bool, depth: u32) -> String {
    pieces.retain(|piece| *piece != "null");
    let Some((last, earlier)) = pieces.split_last() else {
        return "null".to_owned();
    };
    if earlier.is_empty() {
        return (*last).to_owned();
    }
    let inside = |json: &&str| Some(json.strip_prefix('[')?.strip_suffix(']')?.trim().to_owned());
    if let Some(mut lists) = pieces.iter().map(inside).collect::<Option<Vec<_>>>() {
        lists.retain(|list| !list.is_empty());
        return format!("[{}]", lists.join(","));
    }
    let text = |json: &&str| text_of(json);
    if let Some(all) = pieces.iter().map(text).collect::<Option<String>>()
        && texts
    {
        return string(&all);
    }
    let members = |json: &&str| members_of(json);
    match pieces.iter().map(members).collect::<Option<Vec<_>>>() {
        Some(objects) if depth > 0 => {
            let mut all = Pieces::default();
            objects.iter().for_each(|object| all.add(object));
            let member = |(key, pieces): &(String, Vec<String>)| {
                let pieces = pieces.iter().map(String::as_str).collect();
                (key.clone(), join(pieces, texts, depth - 1))
            };
            Members(all.0.iter().map(member).collect()).json()
        }
        Some(_) | None => (*last).to_owned(),
    }
}

fn text_of(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

fn members_of(json: &str) -> Option<Members> {
    let node = Node::read(1, json.as_bytes())
        .ok()
        .filter(|node| node.is_object())?;
    let members = node.object().0.into_iter();
    let members = members.map(|(key, node)| (key.into_owned(), node.json().to_owned()));
    Some(Members(members.collect()))
}

/// Whether a value is neither an object nor a list.
pub(super) fn is_plain(node: Node<'_>) -> bool {
    !node.json().starts_with(['{', '['])
}

/// Removes line breaks between the tokens of a JSON text; strings contain none.
pub(super) fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// A string as JSON. Serializing a string cannot fail.
fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// An error object with only a message.
pub(super) fn error(message: &str) -> String {
    let message = string(message.trim());
    format!(
        r#"{{"error":{{"message":{message},"type":"upstream_error","param":null,"code":null}}}}"#
    )
}
