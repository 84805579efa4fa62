//! A template's source in the template engine's own terms.
//!
//! Chat templates are written for Jinja2 in Python. The engine sorts the keys of dict literals, its lists cannot grow, and it
//! knows no `generation` blocks. So literals become calls of the functions in [`super::values`], and `generation` marks become
//! conditions that hold.

/// The function that makes a dict, from keys and values in turn.
pub(super) const DICT: &str = "__dict__";
/// The function that makes a list that can grow.
pub(super) const LIST: &str = "__list__";

/// Words after which a bracket begins a list, not an index.
const OPERATORS: [&str; 9] = [
    "in", "if", "else", "elif", "or", "and", "not", "is", "filter",
];

/// Rewrites literals and `generation` marks, and leaves everything else as it is.
pub(super) fn adapt(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + source.len() / 8);
    // The engine's own lists are cheaper.
    let grow = [".append(", ".extend(", ".insert(", ".pop("];
    let lists = grow.iter().any(|method| source.contains(method));
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let from = &rest[at..];
        let done = match from.as_bytes().get(1) {
            Some(b'#') => verbatim(from, "#}", &mut out),
            Some(b'{') => code(from, lists, &mut out),
            Some(b'%') => match first_word(from) {
                "raw" => verbatim(from, "endraw", &mut out),
                "generation" => mark(from, "if true", &mut out),
                "endgeneration" => mark(from, "endif", &mut out),
                _ => code(from, lists, &mut out),
            },
            _ => verbatim(from, "{", &mut out),
        };
        rest = &from[done..];
    }
    out.push_str(rest);
    out
}

/// Copies up to the end of a word, or everything.
fn verbatim(from: &str, end: &str, out: &mut String) -> usize {
    let done = from.find(end).map_or(from.len(), |at| at + end.len());
    out.push_str(&from[..done]);
    done
}

/// The first word of a statement.
fn first_word(statement: &str) -> &str {
    let text = statement[2..].trim_start_matches(['-', '+']).trim_start();
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// Replaces the words of a statement, and keeps its marks for white space.
fn mark(from: &str, by: &str, out: &mut String) -> usize {
    let done = from.find("%}").map_or(from.len(), |at| at + 2);
    let sign = |at: usize| from.as_bytes().get(at).filter(|b| matches!(b, b'-' | b'+'));
    let [open, close] = [sign(2), sign(done - 3)].map(|sign| sign.map_or(' ', |b| char::from(*b)));
    out.push_str(&format!("{{%{open} {by} {close}%}}"));
    done
}

/// An open bracket: of a literal that is rewritten, or another.
#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    Dict,
    List,
    Other,
}

/// Rewrites one expression or statement, up to its end.
fn code(from: &str, lists: bool, out: &mut String) -> usize {
    out.push_str(&from[..2]);
    let mut open: Vec<Bracket> = vec![];
    // What precedes: the end of a value, after which a bracket is an index.
    let mut value = false;
    let mut at = 2;
    while let Some(c) = from[at..].chars().next() {
        let rest = &from[at..];
        if open.is_empty() && (rest.starts_with("}}") || rest.starts_with("%}")) {
            out.push_str(&rest[..2]);
            return at + 2;
        }
        let mut next = at + c.len_utf8();
        match c {
            '\'' | '"' => {
                next = at + string(rest, c);
                out.push_str(&from[at..next]);
                value = true;
            }
            '{' => {
                out.push_str(DICT);
                out.push('(');
                open.push(Bracket::Dict);
                value = false;
            }
            '[' if lists && !value => {
                out.push_str(LIST);
                out.push('(');
                open.push(Bracket::List);
            }
            '[' | '(' => {
                out.push(c);
                open.push(Bracket::Other);
                value = false;
            }
            '}' | ']' | ')' => {
                let literal = open.pop().is_some_and(|open| open != Bracket::Other);
                out.push(if literal { ')' } else { c });
                value = true;
            }
            ':' if open.last() == Some(&Bracket::Dict) => {
                out.push(',');
                value = false;
            }
            // A call takes no comma after its last argument.
            ',' if open.last().is_some_and(|open| *open != Bracket::Other)
                && rest[1..].trim_start().starts_with(['}', ']']) => {}
            c if is_word(c) => {
                next = at + rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                let word = &from[at..next];
                out.push_str(word);
                value = !OPERATORS.contains(&word);
            }
            c => {
                out.push(c);
                value &= c.is_whitespace();
            }
        }
        at = next;
    }
    at
}

/// The length of a string with its quotes.
fn string(from: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in from.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    from.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::adapt;

    #[test]
    fn literals_become_calls() {
        for (source, want) in [
            (
                "{{ {'a': x, \"b\": {}} | tojson }}",
                "{{ __dict__('a', x, \"b\", __dict__()) | tojson }}",
            ),
            (
                "{% set a = {'}': '{', } %}{a: b}",
                "{% set a = __dict__('}', '{' ) %}{a: b}",
            ),
            (
                "{{ {'a': m[1:2], 'b': m['c']} }}",
                "{{ __dict__('a', m[1:2], 'b', m['c']) }}",
            ),
            ("{# {'a': 1} #}{{ [1] }}", "{# {'a': 1} #}{{ [1] }}"),
            (
                "{% set a = [] %}{{ a.append([1, b[0]]) }}",
                "{% set a = __list__() %}{{ a.append(__list__(1, b[0])) }}",
            ),
            (
                "{% raw %}{{ {'a': 1} }}{% endraw %}",
                "{% raw %}{{ {'a': 1} }}{% endraw %}",
            ),
            (
                "{%- generation -%}a{%endgeneration%}",
                "{%- if true -%}a{%  endif  %}",
            ),
            (
                "{{ \"it's {x}\" }} { {% if a",
                "{{ \"it's {x}\" }} { {% if a",
            ),
        ] {
            assert_eq!(adapt(source), want, "{source}");
        }
    }
}
