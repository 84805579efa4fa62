//! Dialects are data: built-in ones have no privileges, and a wrong file is rejected with the key and the reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toolglot::{
    BuildError, DecidedBy, DialectSet, EncodeCall, EncodeOptions, Finish, Limits, Options, Parser,
    Turn, builtin_files, encode, escape, unescape,
};
use toolglot_testkit::vectors::Log;

use crate::support::{CASES, Case, DEFAULTS, root};

/// A built-in dialect, as a user's file.
fn renamed(id: &str, fuzzy: bool) -> DialectSet {
    let (_, text) = builtin_files()
        .iter()
        .find(|(have, _)| *have == id)
        .expect("a built-in file");
    let text = text.replacen(&format!("id = \"{id}\""), "id = \"somebody-else\"", 1);
    let mut builder = DialectSet::builder().toml("user.toml", &text);
    if fuzzy {
        builder = builder.switch("somebody-else", "fuzzy");
    }
    builder.build().expect("a renamed file")
}

#[test]
fn a_builtin_dialect_works_the_same_as_a_users_file() {
    let mut sets = BTreeMap::new();
    for case in CASES.iter() {
        let ids: Vec<&str> = case.set.dialects().map(|d| d.id()).collect();
        let [id] = ids.as_slice() else {
            panic!("{} has one dialect", case.id)
        };
        let fuzzy = case.id.contains("fuzzy");
        let set = sets
            .entry((*id, fuzzy))
            .or_insert_with(|| renamed(id, fuzzy));
        let (mine, theirs) = (case.log(), log(case, set));
        let name = |log: &Log| format!("{:?}", log.entries()).replace("somebody-else", id);
        assert_eq!(name(&mine), name(&theirs), "{}", case.id);
    }
}

/// Parses an input in the given set with default options.
fn parse_whole(set: &DialectSet, input: &[u8]) -> Turn {
    toolglot::parse(set, Options::default(), input, Finish::Stop)
}

/// The log of a case with another set.
fn log(case: &Case, set: &DialectSet) -> Log {
    let mut parser = Parser::new(set, case.options.clone());
    let mut log = Log::new();
    parser.feed(case.input, &mut log);
    case.end(&mut parser, &mut log);
    log
}

#[test]
fn the_engine_knows_no_dialect_by_name() {
    let mut found = String::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path
                .file_name()
                .is_some_and(|name| name == "tests" || name == "tests.rs")
            {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs")
                && !path.ends_with("dialect/builtin.rs")
            {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let code = text
                    .lines()
                    .enumerate()
                    .filter(|(_, line)| !line.trim_start().starts_with("//"));
                for (number, line) in code {
                    for (id, _) in builtin_files() {
                        if line.contains(&format!("\"{id}\"")) {
                            let _ = writeln!(found, "{}:{}: {line}", path.display(), number + 1);
                        }
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn builtin_files_fit_together() {
    assert!(DEFAULTS.dialects().len() >= 5);
    for (id, _) in builtin_files() {
        let set = DialectSet::builtin(id).expect("a built-in dialect");
        let dialect = set.dialects().next().expect("one dialect");
        assert!(
            !dialect.sources().is_empty() && !dialect.title().is_empty(),
            "{id}"
        );
    }
}

/// A small correct dialect, as a basis for broken ones.
const GOOD: &str = r#"
id = "mine"
title = "Mine"
deltas = "at-call-end"

[key_quote]
open = ["[[CALL]]"]
close = ["[[END]]"]
name = "tool"
colon = [":"]
separators = [","]

[[key_quote.quotes]]
open = ["{{"]
close = ["}}"]
"#;

fn build(text: &str) -> Result<DialectSet, BuildError> {
    DialectSet::builder().toml("mine.toml", text).build()
}

#[test]
fn wrong_files_are_rejected_with_key_and_reason() {
    assert!(build(GOOD).is_ok());
    let cases = [
        (
            "title = \"Mine\"",
            "titel = \"Mine\"",
            "mine.toml",
            "unknown field `titel`",
        ),
        ("title = \"Mine\"", "", "mine.toml", "missing field `title`"),
        (
            "title = \"Mine\"",
            "title = \"Mine\"\nturn = [\"\"]",
            "`turn[0]`",
            "empty marker",
        ),
        ("id = \"mine\"", "id = \"my dialect\"", "`id`", "made of"),
        (
            "open = [\"[[CALL]]\"]",
            "open = [\"\"]",
            "`key_quote.open`",
            "empty marker",
        ),
        (
            "open = [\"[[CALL]]\"]",
            "open = []",
            "`key_quote.open`",
            "at least one",
        ),
        (
            "close = [\"[[END]]\"]",
            "close = [\"[[CALL]]\"]",
            "`key_quote.close`",
            "opener too",
        ),
        (
            "close = [\"}}\"]",
            "close = [\"{{\"]",
            "`key_quote.quotes[0].close`",
            "opener too",
        ),
        (
            "open = [\"{{\"]",
            "open = [\"{{\", \"{{{\"]",
            "`key_quote.quotes`",
            "beginning of",
        ),
        (
            "open = [\"[[CALL]]\"]",
            "open = [\"[[CALL]]\", \"[[CALL]]X\"]",
            "`open`",
            "beginning of",
        ),
        (
            "deltas = \"at-call-end\"",
            "deltas = \"live\"",
            "`deltas`",
            "at-call-end",
        ),
        (
            "deltas = \"at-call-end\"",
            "deltas = \"soon\"",
            "mine.toml",
            "unknown variant `soon`",
        ),
        (
            "[key_quote]",
            "[observe]\nno_such_kind = \"x\"\n[key_quote]",
            "`observe.no_such_kind`",
            "no kind",
        ),
        (
            "colon = [\":\"]",
            "colon = [\"::\"]",
            "`key_quote.colon`",
            "one character",
        ),
        (
            "[key_quote]",
            "[[span]]\nkind = \"x\"\nopen = \"=\"\nclose = \"=\"\n[key_quote]",
            "`span[0].close`",
            "differ",
        ),
        (
            "[key_quote]",
            "[[reasoning]]\nopen = \"\"\nclose = \"x\"\nat = \"start\"\n[key_quote]",
            "`reasoning[0].open`",
            "empty",
        ),
    ];
    for (good, bad, place, reason) in cases {
        let text = GOOD.replacen(good, bad, 1);
        assert_ne!(text, GOOD);
        let message = build(&text).expect_err(bad).to_string();
        assert!(
            message.contains(place) && message.contains(reason),
            "{bad}: {message}"
        );
    }
    let families =
        format!("{GOOD}\n[element_tree]\nopen = \"<A>\"\nclose = \"</A>\"\nitem = \"item\"\n");
    assert!(
        build(&families)
            .expect_err("two families")
            .to_string()
            .contains("exactly one")
    );
    assert!(
        build("id = ")
            .expect_err("no TOML")
            .to_string()
            .contains("mine.toml")
    );
}

/// A framed dialect: its units, and the rest of its file.
fn framed(units: &str, rest: &str) -> String {
    format!("id = \"mine\"\ntitle = \"Mine\"\ndeltas = \"live\"\n{rest}\n[framed]\n{units}",)
}

#[test]
fn files_of_any_size_are_rejected_at_once() {
    let unit = |open: &str, close: &str| {
        format!(
            "[[framed.unit]]\nopen = [{open}]\nclose = [{close}]\npayload = \"json\"\nprobe = ['$_{{$_\"']\n"
        )
    };
    let good = unit("'<call>'", "'</call>'");
    assert!(build(&framed(&good, "")).is_ok());
    let many: String = (0..65)
        .map(|n| unit(&format!("'<c{n}>'"), "'</c>'"))
        .collect();
    let most: String = (0..64)
        .map(|n| unit(&format!("'<c{n}>'"), "'</c>'"))
        .collect();
    assert!(build(&framed(&most, "")).is_ok());
    let long = "x".repeat(257);
    let list: String = (0..257).map(|n| format!("'<x{n}>',")).collect();
    let braces = |list: &str| {
        let unit = "[[framed.unit]]\nopen = ['<call>']\nclose = ['</call>']\npayload = \"braces\"\nprobe = ['$_call:']\n";
        framed(&format!("{unit}[framed.braces]\ndelimiters = {list}\n"), "")
    };
    assert!(build(&braces("['<a>', '%%']")).is_ok());
    let cases = [
        (framed(&many, ""), "`framed.unit`", "at most 64"),
        (
            framed(&unit(&format!("'<{long}>'"), "'</c>'"), ""),
            "`framed.unit[0].open[0]`",
            "at most 256",
        ),
        (
            framed(
                &unit("'<c>'", "'</c>'"),
                "[framed.section]\nopen = ['']\noptional = true\n",
            ),
            "`framed`",
            "section is empty",
        ),
        (
            framed(&unit("'<c>'", &list), ""),
            "`framed.unit[0].close`",
            "at most 256",
        ),
        (
            framed(&unit("'<c>'", "''"), ""),
            "`framed.unit[0].close[0]`",
            "blank",
        ),
        (
            framed(&unit("'<c>'", "' '"), ""),
            "`framed.unit[0].close[0]`",
            "blank",
        ),
        (
            framed(&unit("\"\\u200b\\ufeff\"", "'</c>'"), ""),
            "`framed.unit[0].open[0]`",
            "blank",
        ),
        (
            GOOD.replacen("[[CALL]]", " \\t", 1),
            "`key_quote.open[0]`",
            "blank",
        ),
        (
            framed(&unit("\"<c\\u0000>\"", "'</c>'"), ""),
            "`framed.unit[0].open[0]`",
            "NUL",
        ),
        (
            framed(&good, "framing = [\"\\u3000\"]"),
            "`framing[0]`",
            "blank",
        ),
        (
            framed(&good, &format!("#{}", "x".repeat(256 * 1024))),
            "mine.toml",
            "bytes",
        ),
        (
            braces("['<a>', '<b>']"),
            "`framed.braces.delimiters`",
            "same byte",
        ),
        (
            braces("['xa']"),
            "`framed.braces.delimiters`",
            "another value",
        ),
        (braces("[' <']"), "`framed.braces.delimiters`", "blank"),
        (braces("['「']"), "`framed.braces.delimiters`", "ASCII"),
    ];
    for (text, place, reason) in cases {
        let message = build(&text).expect_err(place).to_string();
        assert!(
            message.contains(place) && message.contains(reason),
            "{place}: {message}"
        );
    }
}

/// Markers of invisible characters are rejected, whichever of Unicode's blanks they consist of.
#[test]
fn invisible_markers_are_rejected() {
    let blanks = [
        "\u{a0}",
        "\u{ad}",
        "\u{34f}",
        "\u{61c}",
        "\u{115f}",
        "\u{1160}",
        "\u{1680}",
        "\u{17b4}",
        "\u{180b}",
        "\u{180e}",
        "\u{180f}",
        "\u{2003}",
        "\u{200b}",
        "\u{200d}",
        "\u{2028}",
        "\u{202e}",
        "\u{205f}",
        "\u{2060}",
        "\u{2066}",
        "\u{2800}",
        "\u{3000}",
        "\u{3164}",
        "\u{fe0f}",
        "\u{feff}",
        "\u{ffa0}",
        "\u{1d173}",
        "\u{e0020}",
        "\u{2800} \u{3164}",
        "\u{180e}\u{180e}",
    ];
    let unit = |open: &str, close: &str| {
        let probe = "probe = ['$_{$_\"']";
        format!(
            "[[framed.unit]]\nopen = ['{open}']\nclose = ['{close}']\npayload = \"json\"\n{probe}\n"
        )
    };
    for blank in blanks {
        let files = [
            framed(&unit(blank, "</c>"), ""),
            framed(&unit("<c>", blank), ""),
            framed(&unit("<c>", "</c>"), &format!("framing = ['{blank}']")),
            GOOD.replacen("[[CALL]]", blank, 1),
        ];
        for text in files {
            let message = build(&text).expect_err(blank).to_string();
            assert!(message.contains("blank"), "{blank:?}: {message}");
        }
        // Next to visible characters a blank is part of a marker.
        assert!(
            build(&framed(&unit(&format!("<c{blank}>"), "</c>"), "")).is_ok(),
            "{blank:?}"
        );
    }
}

#[test]
fn indistinguishable_dialects_are_rejected() {
    let message = |builder: toolglot::SetBuilder| builder.build().expect_err("a clash").to_string();
    let other = GOOD.replacen("\"mine\"", "\"other\"", 1);
    let twice = || DialectSet::builder().toml("a", GOOD).toml("b", GOOD);
    assert!(message(twice()).contains("the id is the same"));
    assert!(
        message(DialectSet::builder().toml("a", GOOD).toml("b", &other))
            .contains("nothing tells them apart")
    );
    let longer = other.replacen("[[CALL]]", "[[CALL]]S", 1);
    assert!(
        message(DialectSet::builder().toml("a", GOOD).toml("b", &longer)).contains("never be seen")
    );
    let lower = other.replacen("[[CALL]]", "[[call]]", 1).replacen(
        "name = \"tool\"",
        "case = \"ignore\"\nname = \"tool\"",
        1,
    );
    assert!(
        message(DialectSet::builder().toml("a", GOOD).toml("b", &lower)).contains("nothing tells")
    );
    assert!(message(DialectSet::builder().builtin("tam").builtin("tam2")).contains("group tam"));
    assert!(message(DialectSet::builder().builtin("vpc")).contains("did you mean vcp"));
    assert!(
        message(DialectSet::builder().builtin("tam").switch("vcp", "fuzzy"))
            .contains("not in the set")
    );
    assert!(
        message(DialectSet::builder().builtin("vcp").switch("vcp", "fuzy"))
            .contains("there is no such switch; it has: ")
    );
    assert!(matches!(
        DialectSet::builder().build(),
        Err(BuildError::Empty)
    ));
}

#[test]
fn a_switch_may_take_a_value() {
    let build = |dialect: &str, switch: &str| {
        let builder = DialectSet::builder().builtin(dialect);
        builder.switch(dialect, switch).build()
    };
    let set = build("hy-v4", "suffix=:7b2e").expect("a set");
    let input = b"<think:7b2e>hm</think:7b2e>yes";
    let turn = parse_whole(&set, input);
    assert_eq!((turn.text.as_str(), turn.reasoning.as_str()), ("yes", "hm"));
    // A given suffix excludes all others; without one, the opener determines it.
    let other = b"<think:7b2f>hm</think:7b2f>yes";
    assert_eq!(parse_whole(&set, other).text.as_bytes(), other);
    let plain = DialectSet::builtin("hy-v4").expect("a set");
    let turn = parse_whole(&plain, other);
    assert_eq!((turn.text.as_str(), turn.reasoning.as_str()), ("yes", "hm"));
    let why =
        |dialect: &str, switch: &str| build(dialect, switch).expect_err("refused").to_string();
    assert!(why("hy-v4", "suffix").contains("it takes a value: suffix=VALUE"));
    assert!(why("vcp", "fuzzy=1").contains("it takes no value"));
    assert!(why("hy-v4", "prefix=1").contains("it has: suffix"));
    assert!(why("hy-v4", &format!("suffix={}", "x".repeat(300))).contains("reasoning"));
}

#[test]
fn dialects_that_share_an_opener_of_reasoning_keep_the_others() {
    let file = |id: &str, opens: &str| {
        GOOD.replacen("id = \"mine\"", &format!("id = \"{id}\""), 1)
            .replacen("[[CALL]]", &format!("[[{id}]]"), 1)
            + &format!("\n[[reasoning]]\nopen = [{opens}]\nclose = \"</r>\"\nat = \"anywhere\"\n")
    };
    let builder = DialectSet::builder().toml("a", &file("a", "\"<r>\", \"<x>\""));
    let set = builder.toml("b", &file("b", "\"<r>\", \"<y>\"")).build();
    let set = set.expect("a set");
    for open in ["<r>", "<x>", "<y>"] {
        let turn = parse_whole(&set, format!("{open}hm</r>yes").as_bytes());
        assert_eq!(turn.reasoning, "hm", "{open}");
    }
}

#[test]
fn a_set_has_lints() {
    let short = GOOD.replacen("[[CALL]]", "[x", 1);
    let lints = build(&short).expect("a short opener is allowed").lints();
    assert!(
        lints.iter().any(|lint| lint.message.contains("short")),
        "{lints:?}"
    );
    assert!(
        build(&GOOD.replacen("[[CALL]]", "<<[<<", 1))
            .expect("a set")
            .lints()
            .iter()
            .any(|l| l.message.contains("overlaps itself"))
    );
}

#[test]
fn openers_without_evidence_have_lints() {
    let lints = |unit: &str| {
        let text = format!("id = \"x\"\ntitle = \"X\"\n{unit}");
        let lints = build(&text).expect("a set").lints();
        let lints: Vec<String> = lints.into_iter().map(|lint| lint.message).collect();
        lints.join("\n")
    };
    let json = |probe: &str| {
        lints(&format!(
            "deltas = \"live\"\n[[framed.unit]]\nopen = [\"<<call $name>>\"]\nclose = [\"<<end>>\"]\npayload = \"arguments\"\n{probe}"
        ))
    };
    assert_eq!(json(""), "");
    assert_eq!(json("probe = [\"$name>>$_{\"]"), "");
    assert!(json("probe = [\"$_{\"]").contains("can match"));
    let mapping = |probe: &str| {
        lints(&format!(
            "deltas = \"at-call-end\"\n[[framed.unit]]\nopen = [\"<<call $name>>\"]\nclose = [\"<<end>>\"]\npayload = \"yaml\"\n{probe}"
        ))
    };
    assert!(mapping("").contains("opens on its marker alone"));
    assert_eq!(mapping("probe = [\"$name>>\\n\"]"), "");
}

#[test]
fn a_set_reports_where_openers_meet() {
    let file = |id: &str, open: &str| {
        let text = GOOD.replacen("\"mine\"", &format!("\"{id}\""), 1);
        text.replacen("[[CALL]]", open, 1)
    };
    let openers = [
        ("a", "<|call>"),
        ("b", "<|calm>"),
        ("c", "<|cut>"),
        ("d", "l>>x"),
        ("e", "…一"),
        ("f", "…二"),
    ];
    let builder = openers.iter().fold(DialectSet::builder(), |b, (id, open)| {
        b.toml(id, &file(id, open))
    });
    let found = builder
        .build()
        .expect("a set")
        .decisions(&Limits::default());
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "`<|c` goes on with `al` a, b; `ut>` c: 1 byte decides",
            "`<|cal` goes on with `l>` a; `m>` b: 1 byte decides",
            "`…` goes on with `一` e; `二` f: 3 bytes decide",
            "`l>` ends and begins openers: `<|call>` a and `l>>x` d; the one that began earlier counts",
        ]
    );
    let by: Vec<DecidedBy> = found.iter().map(|one| one.by).collect();
    assert_eq!(by[2..], [DecidedBy::NextByte, DecidedBy::Earlier]);
    assert!(found[0].concerns("c") && !found[1].concerns("c"));
    assert_eq!(found[3].lookahead, 2);
}

#[test]
fn tags_that_begin_others_and_openers_of_one_dialect() {
    let decisions = DEFAULTS.decisions(&Limits::default());
    let tags = decisions
        .iter()
        .find(|one| one.concerns("tool-action") && one.concerns("tool-call-xml"));
    let tags = tags.expect("both begin with <tool_");
    assert!("<tool_call".starts_with(&tags.shared), "{tags}");
    // Several openers of one dialect do not compete.
    let many = GOOD.replacen("[\"[[CALL]]\"]", "[\"[[CALL]]\", \"[[CANCEL]]\"]", 1);
    assert_eq!(
        build(&many).expect("a set").decisions(&Limits::default()),
        []
    );
}

#[test]
fn dollars_in_closers_are_dollars() {
    let text = r#"
id = "dollars"
title = "dollars in markers"
deltas = "live"
[framed]
[[framed.unit]]
open = ["<call$$ name=$name>"]
close = ["</call$$>"]
payload = "params"
[framed.param]
open = ["<p$$ name=$key>"]
close = ["</p$$>"]
"#;
    let set = build(text).expect("a dialect");
    let input = "<call$ name=f><p$ name=a>1 $ </p</p$></call$>ok";
    let turn = parse_whole(&set, input.as_bytes());
    assert_eq!(turn.text, "ok");
    assert_eq!(turn.calls[0].arguments, r#"{"a":"1 $ </p"}"#);
    let options = EncodeOptions::default();
    let write = |value: &str| {
        let call = EncodeCall::new("f", format!("{{\"a\":\"{value}\"}}"));
        encode(&set, "dollars", &[call], &options)
    };
    assert!(write("a $$ b").expect("text").contains("a $$ b</p$>"));
    write("a</p$>b").expect_err("a value with its closer");
    for marker in ["<call$ name=f>", "</call$>"] {
        let escaped = escape(&set, marker.as_bytes()).expect("escaped");
        assert!(
            !escaped
                .windows(7)
                .any(|part| part == &marker.as_bytes()[..7])
        );
        assert_eq!(
            unescape(&set, &escaped).expect("unescaped"),
            marker.as_bytes()
        );
    }
}
