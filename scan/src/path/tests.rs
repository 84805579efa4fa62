use super::*;

fn run(patterns: &[&str], text: &str) -> (Go<u16>, Walk, usize) {
    let paths = Paths::new(patterns.iter().enumerate().map(|(i, p)| (*p, i as u16)))
        .expect("patterns")
        .with_blanks();
    let mut walk = paths.begin();
    for (at, byte) in text.bytes().enumerate() {
        let go = paths.step(&mut walk, byte, at as u64, b":9f");
        if go != Go::More {
            return (go, walk, at);
        }
    }
    (Go::More, walk, text.len())
}

fn hole<'t>(walk: &Walk, hole: Hole, text: &'t str) -> &'t str {
    let span = walk.span(hole);
    &text[span.start as usize..span.end as usize]
}

#[test]
fn words_end_where_the_pattern_goes_on() {
    let patterns = [
        "<function=$name>",
        "</tool_call>",
        "[C]$_$name[A]",
        "[C]$_$^[",
    ];
    for (text, action, taken, name) in [
        (" <function=get_time>", 0, true, "get_time"),
        ("\n\n</tool_call>", 1, true, ""),
        ("[C]  f.g[A]", 2, true, "f.g"),
        ("[C]  [", 3, false, ""),
    ] {
        let (go, walk, _) = run(&patterns, text);
        assert_eq!(go, Go::Found { action, taken }, "{text}");
        assert_eq!(hole(&walk, Hole::Name, text), name);
    }
    for text in ["<function =", "<function=a b>", "x", "[C] a b"] {
        assert_eq!(run(&patterns, text).0, Go::None, "{text}");
    }
}

#[test]
fn pairs_tags_and_suffixes() {
    let text = "<arg_key>der Ort</arg_key>\n <arg_value>";
    let (go, walk, _) = run(&["<arg_key>$key</arg_key>$_<arg_value>"], text);
    assert!(matches!(go, Go::Found { action: 0, .. }));
    assert_eq!(hole(&walk, Hole::Key, text), "der Ort");
    let text = "<invoke name=\"a > b\" x='1'>";
    let (go, walk, _) = run(&["<invoke$tag>"], text);
    assert!(matches!(go, Go::Found { action: 0, .. }));
    assert_eq!(hole(&walk, Hole::Tag, text), " name=\"a > b\" x='1'");
    assert!(matches!(
        run(&["<invoke$tag>"], "<invoke>").0,
        Go::Found { .. }
    ));
    assert_eq!(run(&["<invoke$tag>"], "<invoker>").0, Go::None);
    assert!(matches!(run(&["</a$x>"], "</a:9f>").0, Go::Found { .. }));
    assert_eq!(run(&["</a$x>"], "</a:9e>").0, Go::None);
    let text = "<t>潮汐 \n</t>";
    let (go, walk, _) = run(&["<t>$_$name$_</t>"], text);
    assert!(matches!(go, Go::Found { .. }));
    assert_eq!(hole(&walk, Hole::Name, text), "潮汐");
}

#[test]
fn literals_take_precedence_over_words() {
    let patterns = [
        "<$key>",
        "</t>",
        "<invoke$tag>",
        "<tool>",
        "</$x>",
        "</$key>",
    ];
    for (text, action, key) in [
        ("<tool>", 3, ""),
        ("<tools>", 0, "tools"),
        ("<to>", 0, "to"),
        ("<invoice>", 0, "invoice"),
        ("<invoke a='1'>", 2, ""),
        ("</t>", 1, ""),
        ("</to>", 5, "to"),
        ("</:9f>", 4, ""),
    ] {
        let (go, walk, _) = run(&patterns, text);
        let taken = true;
        assert_eq!(go, Go::Found { action, taken }, "{text}");
        assert_eq!(hole(&walk, Hole::Key, text), key);
    }
    assert_eq!(run(&["<$name>", "</a>"], "</b>").0, Go::None);
}

#[test]
fn blanks_and_attributes_in_a_wrapper_s_tag_have_no_meaning() {
    let patterns = [
        "<call>$_$^{",
        "<ifm|calls$x>$_<call>",
        "<inv$tag>",
        "<inv>$_<n>",
        "<f=$name>",
        "<|o|>t$tag<|s|>",
        "<|o|>j<|s|>",
        "<｜D｜k>$key</｜D｜k>",
    ];
    let paths = Paths::tags(patterns.iter().enumerate().map(|(i, p)| (*p, i)))
        .expect("patterns")
        .with_blanks();
    let run = |text: &str| {
        let mut walk = paths.begin();
        for (at, byte) in text.bytes().enumerate() {
            match paths.step(&mut walk, byte, at as u64, b"") {
                Go::More => {}
                Go::Found { action, .. } => return Some((action, walk.loose())),
                Go::None => return None,
            }
        }
        None
    };
    for (text, action, inside) in [
        ("<call>{", 0, ""),
        ("<call >{", 0, " "),
        ("<call\n>\n{", 0, "\n"),
        ("<call a='x > y' 乙=\"2\">{", 0, " a='x > y' 乙=\"2\""),
        ("<ifm|calls id=1/2><call>", 1, " id=1/2"),
        ("<inv x=\"1\">", 2, ""),
        ("<f=g>", 4, ""),
        ("<f=g x='1'>", 4, " x='1'"),
        ("<f=g\n>", 4, "\n"),
        ("<|o|> t x=\"1\"<|s|>", 5, " "),
        ("<|o|>t <|s|>", 5, ""),
        ("<|o|>j id='<' <|s|>", 6, " id='<' "),
        ("<|o|>\n j<|s|>", 6, " "),
        ("<｜D｜ k>a b</｜D｜k >", 7, " "),
    ] {
        let (found, loose) = run(text).unwrap_or_else(|| panic!("{text}"));
        let got = loose.map_or("", |span| &text[span.start as usize..span.end as usize]);
        assert_eq!((found, got), (action, inside), "{text}");
    }
    for text in [
        "<call/>{",
        "<call x='1'/>{",
        "<call a b>{",
        "<callx>{",
        "<call <",
        "<f=g x>",
        "<|o|>jj<|s|>",
        "<|o |>j<|s|>",
    ] {
        assert_eq!(run(text), None, "{text}");
    }
    let spelt = spelt("<|o|>t<|s|>", &[]).expect("a marker").expect("a tag");
    for (text, is) in [
        ("<|o|> t<|s|>", true),
        ("<|o|>t<|s|>", true),
        ("<|o|> t", false),
    ] {
        assert_eq!(spelt.is(text), is, "{text}");
    }
}

#[test]
fn a_token_may_come_twice_where_another_pattern_begins_like_it() {
    for (other, twice) in [
        ("<d>", true),
        ("<c=$id><c=$id/>", true),
        ("<c=$id><c=$key/>", false),
    ] {
        let patterns = ["<c=$id>{", other];
        let paths = Paths::new(patterns.iter().enumerate().map(|(i, p)| (*p, i)))
            .expect("patterns")
            .with_twins(["<c=$id>{"], &[])
            .expect("patterns");
        let mut walk = paths.begin();
        let mut steps = "<c=a><c=b>{".bytes().enumerate();
        let found = steps.any(|(at, byte)| {
            let go = paths.step(&mut walk, byte, at as u64, b"");
            matches!(go, Go::Found { .. })
        });
        assert_eq!(found, twice, "{other}");
        assert!(!found || walk.twice(), "{other}");
    }
}

#[test]
fn a_complete_pattern_waits_for_a_longer_one() {
    let patterns = ["[$_", "[$_$^{"];
    assert_eq!(
        run(&patterns, "[ {").0,
        Go::Found {
            action: 1,
            taken: false
        }
    );
    assert_eq!(
        run(&patterns, "[f").0,
        Go::Found {
            action: 0,
            taken: false
        }
    );
}

#[test]
fn fences_close_with_as_many_backticks() {
    let close = |fix: &str, text: &str| {
        let paths = Paths::new([("```$ticks", 7)])
            .expect("a pattern")
            .with_blanks();
        let mut walk = paths.begin();
        for (at, byte) in text.bytes().enumerate() {
            let go = paths.step(&mut walk, byte, at as u64, fix.as_bytes());
            if go != Go::More {
                return matches!(go, Go::Found { taken: false, .. });
            }
        }
        paths
            .complete(&walk, text.len() as u64, fix.as_bytes())
            .is_some()
    };
    for (fix, text, closes) in [
        ("", "\n```\n", true),
        ("", "``````\n", true),
        ("", "```", true),
        ("`", "````", true),
        ("`", "`````x", true),
        ("`", "```", false),
        ("``", "````\n", false),
    ] {
        assert_eq!(close(fix, text), closes, "{fix} {text:?}");
    }
    let (go, ..) = run(&["Action $digits:"], "Action 12:");
    assert!(matches!(go, Go::Found { .. }));
    assert_eq!(run(&["Action $digits:"], "Action x:").0, Go::None);
}

#[test]
fn impossible_patterns() {
    for pattern in ["$nam>", "$key", "$^ab", "a$name$id"] {
        assert!(Paths::new([(pattern, 0)]).is_err(), "{pattern}");
    }
}
