//! Templates made at random, and hostile ones.

use std::time::{SystemTime, UNIX_EPOCH};

use toolglot::json::{Value as Json, json};
use toolglot::{Collect, Finish, Options, Parser, Tools};

use super::asked::{Turn, tools};
use super::writer::Writer;
use super::*;

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).expect("fewer than its sides")
    }

    fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.roll(from.len())]
    }

    fn word(&mut self) -> String {
        let one = self.pick(&[
            "tool", "action", "func", "plug", "calls", "op", "skill", "run",
        ]);
        match self.roll(3) {
            0 => one.to_owned(),
            1 => format!("{one}_{}", self.pick(&["use", "block", "list", "call"])),
            _ => format!("{one}{}", self.roll(9)),
        }
    }
}

/// A pair of markers in one of the field's styles.
fn markers(dice: &mut Dice, word: &str) -> [String; 2] {
    match dice.roll(6) {
        0 => [format!("<{word}>"), format!("</{word}>")],
        1 => [format!("<|{word}|>"), format!("<|/{word}|>")],
        2 => [format!("<|{word}_begin|>"), format!("<|{word}_end|>")],
        3 => [
            format!("[{}]", word.to_uppercase()),
            format!("[/{}]", word.to_uppercase()),
        ],
        4 => [format!("<｜{word}▁begin｜>"), format!("<｜{word}▁end｜>")],
        _ => [format!("<{word}:start>"), format!("<{word}:stop>")],
    }
}

/// A text as an expression of a template.
fn quote(text: &str) -> String {
    json!(text).to_string()
}

/// A template, and what it was made of.
struct Made {
    source: String,
    parts: String,
    /// The marker that begins the user's turn and not the model's.
    other: Option<&'static str>,
}

#[allow(clippy::too_many_lines, reason = "one list of choices")]
fn template(dice: &mut Dice) -> Made {
    let (header, user, end) = match dice.roll(4) {
        0 => (
            "<|im_start|>assistant\n",
            "<|im_start|>user\n",
            "<|im_end|>\n",
        ),
        1 => ("<|assistant|>", "<|user|>", "<|end|>"),
        2 => ("[ASSISTANT]\n", "[USER]\n", "[EOT]\n"),
        _ => (
            "<start_of_turn>model\n",
            "<start_of_turn>user\n",
            "<end_of_turn>\n",
        ),
    };
    let marker = user.trim_end_matches("user\n").trim_end();
    let other = Some(marker).filter(|marker| !header.starts_with(marker));
    let line = ["", "\n"][dice.roll(2)];
    let first = dice.word();
    let mut second = dice.word();
    while second == first || first.contains(&second) || second.contains(&first) {
        second = dice.word();
    }
    let [open, close] = markers(dice, &first);
    let section = dice.roll(2) == 0;
    let [mut outer, mut inner] = match section {
        true => markers(dice, &second),
        false => [String::new(), String::new()],
    };
    let name = "c.function.name";
    let arguments = "c.function.arguments";
    let mut separator = dice.pick(&["", "\n"]);
    let (kind, call) = match dice.roll(12) {
        0 => {
            let keys = dice.pick(&[
                &["name", "arguments"],
                &["tool", "input"],
                &["function", "args"],
            ]);
            let json = format!(
                "{{{}: {name}, {}: {arguments}}} | tojson",
                quote(keys[0]),
                quote(keys[1])
            );
            (
                "json",
                format!(
                    "{{{{- {} + ({json}) + {} }}}}",
                    quote(&format!("{open}{line}")),
                    quote(&format!("{line}{close}"))
                ),
            )
        }
        1 => {
            let json = format!("{{{name}: {arguments}}} | tojson");
            (
                "name as key",
                format!("{{{{- {} + ({json}) + {} }}}}", quote(&open), quote(&close)),
            )
        }
        2 | 3 => {
            let between = dice.pick(&["\n", ": ", "<|args|>", " -> "]);
            let text = format!(
                "{} + {name} + {} + ({arguments} | tojson) + {}",
                quote(&open),
                quote(between),
                quote(&close)
            );
            ("name and JSON", format!("{{{{- {text} }}}}"))
        }
        4 | 5 => {
            let (before, after, done) = match dice.roll(4) {
                0 => ("<parameter=", ">\n", "\n</parameter>\n"),
                1 => ("<arg name=\"", "\">", "</arg>\n"),
                2 => ("<key>", "</key>\n<value>", "</value>\n"),
                _ => ("<|p|>", "<|v|>", "<|/p|>"),
            };
            let value = "(v if v is string else v | tojson)";
            let each = format!(
                "{{%- for k, v in {arguments} | items %}}{{{{- {} + k + {} + {value} + {} }}}}{{%- endfor %}}",
                quote(before),
                quote(after),
                quote(done)
            );
            (
                "parameters",
                format!(
                    "{{{{- {} + {name} + \"\\n\" }}}}{each}{{{{- {} }}}}",
                    quote(&open),
                    quote(&close)
                ),
            )
        }
        6 => {
            let each = format!(
                "{{%- for k, v in {arguments} | items %}}{{{{- (\"\" if loop.first else \", \") + k + \"=\" }}}}{{{{- (v | tojson) if v is string else v }}}}{{%- endfor %}}"
            );
            (
                "Python",
                format!(
                    "{{{{- {} + {name} + \"(\" }}}}{each}{{{{- \")]\" + {} }}}}",
                    quote(&format!("{open}[")),
                    quote(&close)
                ),
            )
        }
        7 => {
            // All calls in one list, whose brackets are of JSON.
            (outer, inner) = (format!("{open}["), format!("]{close}"));
            separator = ", ";
            ("a list", "{{- c.function | tojson }}".to_owned())
        }
        8 => {
            let json = format!(
                "{{\"type\": \"function\", \"function\": {{\"name\": {name}, \"arguments\": {arguments} | tojson}}}} | tojson"
            );
            (
                "wrapped, arguments as text",
                format!("{{{{- {} + ({json}) + {} }}}}", quote(&open), quote(&close)),
            )
        }
        9 => {
            let kind = "(\"string\" if v is string else \"json\")";
            let value = "(v if v is string else v | tojson)";
            let each = format!(
                "{{%- for k, v in {arguments} | items %}}{{{{- \"<arg key=\\\"\" + k + \"\\\" type=\\\"\" + {kind} + \"\\\">\" + {value} + \"</arg>\" }}}}{{%- endfor %}}"
            );
            (
                "typed parameters",
                format!(
                    "{{{{- {} + {name} + \"\\\">\" }}}}{each}{{{{- \"</do>\" }}}}",
                    quote("<do tool=\"")
                ),
            )
        }
        10 => {
            let text = format!(
                "{} + c.id + {} + {name} + {} + ({arguments} | tojson) + {}",
                quote(&open),
                quote("<|name|>"),
                quote("<|args|>"),
                quote(&close)
            );
            ("an id, a name and JSON", format!("{{{{- {text} }}}}"))
        }
        _ => {
            let tag = dice.word();
            let json = format!("({arguments} | tojson)");
            let text = format!(
                "{} + {name} + {} + {json} + {}",
                quote(&format!("<{tag} name=\"")),
                quote("\">"),
                quote(&format!("</{tag}>"))
            );
            ("name in a tag", format!("{{{{- {text} }}}}"))
        }
    };
    let thought = dice.roll(3);
    let [think, thought_end] = match thought {
        0 => [String::new(), String::new()],
        1 => ["<think>\n".to_owned(), "\n</think>\n".to_owned()],
        _ => markers(dice, "musing"),
    };
    let key = dice.pick(&["reasoning_content", "reasoning", "thinking"]);
    let reasoning = match thought {
        0 => String::new(),
        _ => format!(
            "{{%- if m.{key} %}}{{{{- {} + m.{key} + {} }}}}{{%- endif %}}",
            quote(&think),
            quote(&thought_end)
        ),
    };
    let header_text = quote(header);
    // Some prompts open the thought.
    let opened = thought == 1 && dice.roll(2) == 0;
    let prompt_text = match opened {
        true => quote(&format!("{header}{think}")),
        false => header_text.clone(),
    };
    let reasoning = match opened {
        true => format!(
            "{reasoning}{{%- if not m.{key} %}}{{{{- {} }}}}{{%- endif %}}",
            quote(&format!("{think}{thought_end}"))
        ),
        false => reasoning,
    };
    let source = format!(
        "{{%- if tools %}}{{{{- tools | tojson }}}}{{%- endif %}}\
         {{%- for m in messages %}}\
         {{%- if m.role == \"assistant\" %}}{{{{- {header_text} }}}}{reasoning}\
         {{%- if m.content %}}{{{{- m.content }}}}{{%- endif %}}\
         {{%- if m.tool_calls %}}{{{{- {} }}}}\
         {{%- for c in m.tool_calls %}}{{%- if not loop.first %}}{{{{- {} }}}}{{%- endif %}}{call}{{%- endfor %}}\
         {{{{- {} }}}}{{%- endif %}}{{{{- {} }}}}\
         {{%- else %}}{{{{- {} + m.content + {} }}}}{{%- endif %}}\
         {{%- endfor %}}{{%- if add_generation_prompt %}}{{{{- {prompt_text} }}}}{{%- endif %}}",
        quote(&outer),
        quote(separator),
        quote(&inner),
        quote(end),
        quote(user),
        quote(end)
    );
    Made {
        source,
        other,
        parts: format!("{kind}, {open} in {outer:?}, separator {separator:?}, thought {think:?}"),
    }
}

/// A turn that no derivation has seen.
fn turn(dice: &mut Dice) -> Turn {
    let mut out = Turn::default();
    if dice.roll(2) == 0 {
        out.text = dice
            .pick(&[
                "Just a moment.",
                "好的，我来查一下。",
                "Two lines\nof text",
                "a < b, `x` & {y}",
            ])
            .to_owned();
    }
    if dice.roll(2) == 0 {
        out.reasoning = dice
            .pick(&["What now?", "先想一想", "First this.\n\nThen [that]."])
            .to_owned();
    }
    for _ in 0..dice.roll(4) {
        let mut text = || {
            dice.pick(&[
                "plain",
                "",
                "two words",
                "say \"hi\"",
                "it's",
                "{\"a\": 1}",
                "第一行\n第二行",
                "12",
                "true",
                "<b>x</b>",
                "back\\slash",
            ])
        };
        let (a, b) = (text(), text());
        let more: Json = dice
            .pick(&["{}", "{\"a\": [1, null, {\"b\": \"c\"}]}", "{\"x\": \"y\"}"])
            .parse()
            .expect("JSON");
        let arguments = match dice.roll(4) {
            0 => json!({"text": a, "title": b}),
            1 => json!({"text": a, "count": 7, "flag": true}),
            2 => json!({"title": b, "nested": more, "items": ["p", "q"]}),
            _ => json!({}),
        };
        out = out.and("store_note", arguments);
    }
    out
}

/// How often a derived dialect may be missing, in templates out of a hundred.
const MISSING: usize = 5;

fn seed() -> u64 {
    let own = std::env::var("TOOLGLOT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let clock = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros())
    };
    own.unwrap_or_else(|| u64::try_from(clock() & u128::from(u64::MAX)).unwrap_or_default())
}

#[test]
fn templates_made_at_random_are_derived_right() {
    let seed = seed();
    let count: usize = std::env::var("TOOLGLOT_TEMPLATES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(30);
    let known = std::sync::Arc::new(Tools::from_value(&tools()).expect("tools"));
    let mut missing = vec![];
    for index in 0..count as u64 {
        let mut dice = Dice(seed.wrapping_add(index << 20));
        let made = template(&mut dice);
        let source = TemplateSource::text(&*made.source);
        let options = DeriveOptions::default().own(true);
        let derived = match derive(&source, &options) {
            Ok(derived) => derived,
            Err(error) => {
                missing.push(format!(
                    "TOOLGLOT_SEED={} ({}): {error}\n{}",
                    seed.wrapping_add(index << 20),
                    made.parts,
                    made.source
                ));
                continue;
            }
        };
        let toml = derived.toml.as_deref().unwrap_or_default();
        let others = toml.lines().find(|line| line.starts_with("others = "));
        let wanted = made
            .other
            .map(|other| format!("others = [{}]", quote(other)));
        assert_eq!(others, wanted.as_deref(), "{}", made.source);
        let set = derived.set().expect("a set");
        let writer = Writer::new(&derived.template, &made.source).expect("a writer");
        for _ in 0..40 {
            let said = turn(&mut dice);
            let written = writer.write(&said).expect("a reply");
            let options = Options::default()
                .tools(known.clone())
                .prompt_tail(written.prompt.as_bytes());
            let mut parser = Parser::new(&set, options);
            let mut sink = Collect::new();
            for chunk in written.reply.as_bytes().chunks(1 + dice.roll(9)) {
                parser.feed(chunk, &mut sink);
            }
            parser.finish(Finish::Stop, &mut sink);
            let got = sink.turn();
            let calls: Vec<(String, Json)> = got
                .calls
                .iter()
                .map(|call| (call.name.clone(), call.arguments.parse().expect("JSON")))
                .collect();
            let wanted: Vec<(String, Json)> = said
                .calls
                .iter()
                .map(|call| (call.name.clone(), Json::Object(call.arguments.clone())))
                .collect();
            let told = format!(
                "TOOLGLOT_SEED={} ({})\n{}\n{}",
                seed.wrapping_add(index << 20),
                made.parts,
                written.reply,
                derived.toml.clone().unwrap_or_default()
            );
            assert_eq!(calls, wanted, "{told}");
            assert_eq!(got.text.trim(), said.text.trim(), "{told}");
            if !made.parts.ends_with("thought \"\"") {
                assert_eq!(got.reasoning.trim(), said.reasoning.trim(), "{told}");
            }
        }
    }
    assert!(
        missing.len() * 100 <= count * MISSING,
        "{} of {count} are missing:\n{}",
        missing.len(),
        missing.join("\n\n")
    );
}

/// A template that writes calls, with a part of it to be replaced.
fn with(part: &str) -> String {
    format!(
        "{part}{{%- for m in messages %}}{{{{- \"<|\" + m.role + \"|>\" + (m.content or \"\") }}}}\
         {{%- for c in m.tool_calls or [] %}}{{{{- \"<call>\" + (c.function | tojson) + \"</call>\" }}}}{{%- endfor %}}{{%- endfor %}}\
         {{%- if add_generation_prompt %}}{{{{- \"<|assistant|>\" }}}}{{%- endif %}}"
    )
}

#[test]
fn hostile_templates_end_with_an_error() {
    for (part, why) in [
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
            "fuel",
        ),
        (
            "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
            "recursion",
        ),
        (
            "{% for a in range(90000) %}{{ \"x\" * 90000 }}{% endfor %}",
            "more than",
        ),
        (
            "{% set ns = namespace(a=\"x\") %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}",
            "fuel",
        ),
        ("{{ raise_exception(\"no calls here\") }}", "no calls here"),
        ("{% if", "syntax"),
        ("{{ messages.append(messages) }}", "append"),
    ] {
        let source = TemplateSource::text(with(part));
        let error = derive(&source, &DeriveOptions::default())
            .expect_err(why)
            .to_string();
        assert!(error.contains(why), "{part}: {error}");
    }
    let long = with("").replace("</call>", &"</call>".repeat(1200));
    let error =
        derive(&TemplateSource::text(long), &DeriveOptions::default()).expect_err("a long turn");
    assert!(error.to_string().contains("bytes for a turn"), "{error}");
    let plain = "{% for m in messages %}{{ m.role + m.content }}{% endfor %}";
    let error =
        derive(&TemplateSource::text(plain), &DeriveOptions::default()).expect_err("no calls");
    assert!(error.to_string().contains("writes no calls"), "{error}");
}

/// What such a template writes for real tools is never read as something else.
#[test]
fn a_template_that_knows_the_sentinels_is_refused_or_read() {
    let source = "{%- for m in messages %}{{- \"<|\" + m.role + \"|>\" + (m.content or \"\") }}\
         {%- for c in m.tool_calls or [] %}{%- if \"parcel\" in c.function.name or \"crate\" in c.function.name %}\
         {{- \"<call>\" + (c.function | tojson) + \"</call>\" }}{%- else %}{{- \"<other>\" + c.function.name + \"</other>\" }}{%- endif %}\
         {%- endfor %}{%- endfor %}{%- if add_generation_prompt %}{{- \"<|assistant|>\" }}{%- endif %}";
    let error =
        derive(&TemplateSource::text(source), &DeriveOptions::default()).expect_err("two forms");
    assert!(matches!(error, DeriveError::Unread { .. }), "{error}");
}

#[test]
fn a_file_names_the_template_that_it_was_made_of() {
    let source = TemplateSource::text(with(""));
    let derived =
        derive(&source, &DeriveOptions::default().own(true).id("house")).expect("a dialect");
    let toml = derived.toml.expect("a file");
    assert_eq!(derived.dialects, ["house"]);
    assert_eq!(made_of(&toml, &source), Some(true));
    assert_eq!(
        made_of(&toml, &TemplateSource::text(with(" "))),
        Some(false)
    );
    assert_eq!(derived.start, "<|assistant|>");
    let report = derived.report.to_string();
    for line in [
        "prompt  <|assistant|>",
        "results  <|tool|>..",
        "read back  18 turns",
    ] {
        assert!(report.contains(line), "{report}");
    }
}

#[test]
fn a_built_in_dialect_that_reads_the_same_is_taken() {
    let source = "{%- for m in messages %}{{- \"<|im_start|>\" + m.role + \"\\n\" + (m.content or \"\") }}\
         {%- for c in m.tool_calls or [] %}{{- \"\\n<tool_call>\\n\" + (c.function | tojson) + \"\\n</tool_call>\" }}{%- endfor %}\
         {{- \"<|im_end|>\\n\" }}{%- endfor %}{%- if add_generation_prompt %}{{- \"<|im_start|>assistant\\n\" }}{%- endif %}";
    let derived =
        derive(&TemplateSource::text(source), &DeriveOptions::default()).expect("a dialect");
    assert_eq!(derived.dialects, ["hermes"]);
    assert_eq!(derived.toml, None);
    assert_eq!(derived.stop, ["<|im_end|>"]);
    let layout = derived.layout().expect("a layout");
    assert_eq!(layout.dialect(), "hermes");
}
