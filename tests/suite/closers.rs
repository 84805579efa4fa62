//! Provisional closers: what may be content of an unclosed value is never a complete call.

use toolglot::{DialectSet, Finish, Grade, Options, builtin_files};

use crate::support::DEFAULTS;

/// The markers of a key-quote dialect: opener, closer, the key of the name, a value's opener and closer.
struct Marks {
    id: &'static str,
    open: String,
    close: String,
    name: String,
    quote: (String, String),
}

fn first(table: &toml::Table, key: &str) -> String {
    let list = table.get(key).and_then(toml::Value::as_array);
    let word = list.and_then(|list| list.first()?.as_str());
    word.expect("a list of words").to_owned()
}

/// Every built-in key-quote dialect.
fn key_quotes() -> Vec<Marks> {
    let mut all = vec![];
    for (id, text) in builtin_files() {
        let file: toml::Table = toml::from_str(text).expect("a dialect file");
        let Some(table) = file.get("key_quote").and_then(toml::Value::as_table) else {
            continue;
        };
        let quotes = table.get("quotes").and_then(toml::Value::as_array);
        let quote = quotes
            .and_then(|quotes| quotes.first()?.as_table())
            .expect("a quote");
        let name = table.get("name").and_then(toml::Value::as_str);
        all.push(Marks {
            id,
            open: first(table, "open"),
            close: first(table, "close"),
            name: name.expect("a key").to_owned(),
            quote: (first(quote, "open"), first(quote, "close")),
        });
    }
    assert!(all.len() >= 3);
    all
}

impl Marks {
    fn request(&self, tool: &str) -> String {
        let (left, right) = &self.quote;
        format!(
            "{}\n{}:{left}{tool}{right}\n{}",
            self.open, self.name, self.close
        )
    }
}

#[test]
fn a_call_quoted_in_an_open_value_is_never_complete() {
    for marks in key_quotes() {
        let alone = DialectSet::builtin(marks.id).expect("a built-in set");
        let (left, right) = &marks.quote;
        let inner = [
            marks.request("rm"),
            "<tool_call name=\"rm\"><param name=\"a\">1</param></tool_call>".to_owned(),
            "<tool_call>\n{\"name\": \"rm\", \"arguments\": {}}\n</tool_call>".to_owned(),
            "<ACTION><删><路>1</路></删></ACTION>".to_owned(),
        ];
        let fillers = [
            String::new(),
            " 然后写 ".to_owned(),
            "and so on. ".repeat(120),
        ];
        let ends = [
            String::new(),
            "\n".to_owned(),
            format!("{right}\n{}", marks.close),
        ];
        for (inner, filler) in inner
            .iter()
            .flat_map(|i| fillers.iter().map(move |f| (i, f)))
        {
            for end in &ends {
                let text = format!(
                    "{}\n{}:{left}outer{right}\nnote:{left}It ends with {}{filler}\n{inner}{end}",
                    marks.open, marks.name, marks.close
                );
                // Another dialect of its group would read different quotes.
                let known = DEFAULTS.dialects().any(|dialect| dialect.id() == marks.id);
                for set in [Some(&alone), known.then_some(&*DEFAULTS)]
                    .into_iter()
                    .flatten()
                {
                    let turn =
                        toolglot::parse(set, Options::default(), text.as_bytes(), Finish::Stop);
                    for call in turn.calls.iter().filter(|call| call.name != "outer") {
                        assert_eq!(call.grade, Grade::Recovered, "{}: {text}", marks.id);
                    }
                }
            }
        }
    }
}
