//! JSON values of a schema, for notations without schemas. It is looser than the schema if that says more than types, choices,
//! items and properties, but never stricter for values written without whitespace.

use toolglot::json::Value as Json;

use super::expr::{Expr, Grammar};

/// How deep a schema is followed; below that, any JSON value is allowed.
const MAX_DEPTH: usize = 8;

/// The rule of a schema.
pub(super) fn expr(schema: &Json, name: &str, grammar: &mut Grammar, depth: usize) -> Expr {
    basics(grammar);
    let rule = |name: &str| Expr::Rule(name.to_owned());
    let literal = |value: &Json| Expr::Text(value.to_string());
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    if let Some(values) = schema
        .get("enum")
        .and_then(Json::as_array)
        .filter(|list| !list.is_empty())
    {
        return Expr::Or(values.iter().map(literal).collect());
    }
    if depth > MAX_DEPTH {
        return rule("json");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(parts) = schema
            .get(key)
            .and_then(Json::as_array)
            .filter(|list| !list.is_empty())
        {
            let parts = parts.iter().enumerate();
            return Expr::Or(
                parts
                    .map(|(at, part)| expr(part, &format!("{name}o{at}"), grammar, depth + 1))
                    .collect(),
            );
        }
    }
    let one = |kind: &str, grammar: &mut Grammar| match kind {
        "string" => rule("jsonstring"),
        "integer" => rule("jsoninteger"),
        "number" => rule("jsonnumber"),
        "boolean" => Expr::Or(vec![
            Expr::Text("true".to_owned()),
            Expr::Text("false".to_owned()),
        ]),
        "null" => Expr::Text("null".to_owned()),
        "array" => array(schema, name, grammar, depth),
        "object" => object(schema, name, grammar, depth),
        _ => rule("json"),
    };
    match schema.get("type") {
        Some(Json::String(kind)) => one(kind, grammar),
        Some(Json::Array(kinds)) if !kinds.is_empty() => {
            let kinds = kinds.iter().filter_map(Json::as_str);
            Expr::Or(kinds.map(|kind| one(kind, grammar)).collect())
        }
        _ if schema.get("properties").is_some() => object(schema, name, grammar, depth),
        _ => rule("json"),
    }
}

fn array(schema: &Json, name: &str, grammar: &mut Grammar, depth: usize) -> Expr {
    let text = |text: &str| Expr::Text(text.to_owned());
    let item = match schema.get("items") {
        Some(items) => expr(items, &format!("{name}i"), grammar, depth + 1),
        None => Expr::Rule("json".to_owned()),
    };
    let rule = format!("{name}item");
    grammar.add(&rule, item);
    let item = Expr::Rule(rule);
    let more = Expr::Many(Box::new(Expr::Seq(vec![text(","), item.clone()])));
    Expr::Or(vec![
        text("[]"),
        Expr::Seq(vec![text("["), item, more, text("]")]),
    ])
}

/// Known properties in order, optional ones may be left out; without properties, any object.
fn object(schema: &Json, name: &str, grammar: &mut Grammar, depth: usize) -> Expr {
    let Some(properties) = schema
        .get("properties")
        .and_then(Json::as_object)
        .filter(|map| !map.is_empty())
    else {
        return Expr::Rule("jsonobject".to_owned());
    };
    let needed = |key: &str| {
        let list = schema.get("required").and_then(Json::as_array);
        list.is_some_and(|list| list.iter().any(|have| have == key))
    };
    let mut parts = vec![];
    for (at, (key, part)) in properties.iter().enumerate() {
        let rule = format!("{name}p{at}");
        let value = expr(part, &format!("{name}v{at}"), grammar, depth + 1);
        let key_text = Expr::Text(format!("{}:", Json::from(key.as_str())));
        grammar.add(&rule, Expr::Seq(vec![key_text, value]));
        parts.push((Expr::Rule(rule), needed(key)));
    }
    let text = |text: &str| Expr::Text(text.to_owned());
    let rest = chain(&format!("{name}r"), &parts, &text(","), &text("}"), grammar);
    Expr::Seq(vec![text("{"), rest])
}

/// Items in order, including all required ones, with `joint` between two and `end` after the last. Linear in rules; quadratic
/// in text only if none is required.
fn chain(
    name: &str,
    parts: &[(Expr, bool)],
    joint: &Expr,
    end: &Expr,
    grammar: &mut Grammar,
) -> Expr {
    let state =
        |at: usize, begun: bool| Expr::Rule(format!("{name}{}{at}", if begun { "m" } else { "b" }));
    for begun in [true, false] {
        for at in (0..=parts.len()).rev() {
            let mut ways = vec![];
            for (next, (part, needed)) in parts.iter().enumerate().skip(at) {
                let mut way = vec![];
                if begun {
                    way.push(joint.clone());
                }
                way.extend([part.clone(), state(next + 1, true)]);
                ways.push(Expr::Seq(way));
                if *needed {
                    break;
                }
            }
            if !parts[at..].iter().any(|(_, needed)| *needed) {
                ways.push(end.clone());
            }
            let Expr::Rule(rule) = state(at, begun) else {
                continue;
            };
            if begun || at == 0 {
                grammar.add(&rule, Expr::Or(ways));
            }
        }
    }
    state(0, false)
}

/// Any JSON.
fn basics(grammar: &mut Grammar) {
    if grammar.has("json") {
        return;
    }
    let text = |text: &str| Expr::Text(text.to_owned());
    let rule = |name: &str| Expr::Rule(name.to_owned());
    let or = |chars: &str| Expr::Or(chars.chars().map(|c| Expr::Text(c.to_string())).collect());
    let many = |expr: Expr| Expr::Many(Box::new(expr));
    grammar.add("jsondigit", or("0123456789"));
    grammar.add("jsonhex", or("0123456789abcdefABCDEF"));
    let control: Vec<char> = ('\0'..' ').collect();
    let plain = Expr::NoneOf(
        ['"', '\\']
            .into_iter()
            .chain(
                control
                    .into_iter()
                    .filter(|c| matches!(c, '\n' | '\r' | '\t')),
            )
            .collect(),
    );
    let hex = vec![
        text("\\u"),
        rule("jsonhex"),
        rule("jsonhex"),
        rule("jsonhex"),
        rule("jsonhex"),
    ];
    let escape = Expr::Seq(vec![text("\\"), or("\"\\/bfnrt")]);
    grammar.add("jsonchar", Expr::Or(vec![plain, escape, Expr::Seq(hex)]));
    grammar.add(
        "jsonstring",
        Expr::Seq(vec![text("\""), many(rule("jsonchar")), text("\"")]),
    );
    let digits = Expr::Seq(vec![or("123456789"), many(rule("jsondigit"))]);
    grammar.add("jsonnatural", Expr::Or(vec![text("0"), digits]));
    grammar.add(
        "jsoninteger",
        Expr::Or(vec![
            rule("jsonnatural"),
            Expr::Seq(vec![text("-"), rule("jsonnatural")]),
        ]),
    );
    let some = Expr::Seq(vec![rule("jsondigit"), many(rule("jsondigit"))]);
    let fraction = Expr::Or(vec![text(""), Expr::Seq(vec![text("."), some.clone()])]);
    let exponent = Expr::Or(vec![
        text(""),
        Expr::Seq(vec![
            or("eE"),
            Expr::Or(vec![text(""), text("+"), text("-")]),
            some,
        ]),
    ]);
    grammar.add(
        "jsonnumber",
        Expr::Seq(vec![rule("jsoninteger"), fraction, exponent]),
    );
    let list = |item: &str| {
        let more = many(Expr::Seq(vec![text(","), rule(item)]));
        Expr::Or(vec![text(""), Expr::Seq(vec![rule(item), more])])
    };
    grammar.add(
        "jsonmember",
        Expr::Seq(vec![rule("jsonstring"), text(":"), rule("json")]),
    );
    grammar.add(
        "jsonobject",
        Expr::Seq(vec![text("{"), list("jsonmember"), text("}")]),
    );
    grammar.add(
        "jsonarray",
        Expr::Seq(vec![text("["), list("json"), text("]")]),
    );
    let names = ["jsonstring", "jsonnumber", "jsonobject", "jsonarray"].map(rule);
    let words = ["true", "false", "null"].map(text);
    grammar.add("json", Expr::Or(names.into_iter().chain(words).collect()));
}
