//! What templates of the field rely on, as Jinja2 renders it. `ci/derive.sh` compares whole templates with Jinja2.

use toolglot::json::json;

use super::*;

fn options() -> TemplateOptions {
    TemplateOptions::default().now(Some(1_738_324_800))
}

fn render(template: &str) -> Result<String, String> {
    let template = ChatTemplate::new(template, &options()).map_err(|error| error.message)?;
    let messages = json!([
        {"role": "user", "content": " Hello ", "none": null},
        {"role": "assistant", "content": "", "calls": {"b": 1, "a": ["x", true, null], "big": 12345678901234567890u64, "e": 0.1}},
    ]);
    template
        .render(&messages, Some(&json!([])), true)
        .map_err(|error| error.message)
}

#[test]
fn templates_render_as_jinja2_does() {
    for (template, want) in [
        // Dicts keep their order, lists grow.
        (
            "{{ {'b': 1, 'a': {'d': none, 'c': [1]}} | tojson }}",
            r#"{"b": 1, "a": {"d": null, "c": [1]}}"#,
        ),
        (
            "{% set l = [] %}{% set _ = l.append('x') %}{% set _ = l.extend([1, 2]) %}{{ l.pop() }}{{ l.pop(0) }}{{ l }}",
            "2x[1]",
        ),
        (
            "{% set l = [1] %}{% set _ = l.insert(-9, {'k': 'v'}) %}{% set _ = l.append(3) %}{{ l }}{{ l | length }}",
            "[{'k': 'v'}, 1, 3]3",
        ),
        // Python's spelling of values.
        (
            "{{ messages[1].calls }}",
            "{'b': 1, 'a': ['x', True, None], 'big': 12345678901234567890, 'e': 0.1}",
        ),
        (
            "{{ [\"it's\", 'a\\nb', '\"'] | list }}{{ none }}{{ true }}",
            "[\"it's\", 'a\\nb', '\"']NoneTrue",
        ),
        ("{{ messages[1].calls.a | string }}", "['x', True, None]"),
        // JSON as json.dumps writes it.
        (
            "{{ messages[1].calls | tojson }}",
            r#"{"b": 1, "a": ["x", true, null], "big": 12345678901234567890, "e": 0.1}"#,
        ),
        (
            "{{ messages[1].calls.a | tojson(indent=2) }}",
            "[\n  \"x\",\n  true,\n  null\n]",
        ),
        (
            "{{ {'b': [], 'a': {}} | tojson(indent=1, sort_keys=true) }}",
            "{\n \"a\": {},\n \"b\": []\n}",
        ),
        (
            "{{ 'é<🎉' | tojson }}{{ 'é<🎉' | tojson(ensure_ascii=true) }}",
            r#""é<🎉""\u00e9<\ud83c\udf89""#,
        ),
        (
            "{{ {'a': [1, 2]} | tojson(separators=(',', ':')) }}",
            r#"{"a":[1,2]}"#,
        ),
        // Tests, methods, blocks.
        (
            "{{ messages[0].none is iterable }}{{ 'a' is iterable }}{{ missing is defined }}",
            "FalseTrueFalse",
        ),
        (
            "{{ messages[1].calls.e is number }}{{ messages[1].calls.big is number }}{{ messages is sequence }}{{ messages[0] is mapping }}",
            "TrueTrueTrueTrue",
        ),
        (
            "{{ messages[0].content.strip() }}|{{ 'a,b'.split(',')[-1] }}|{{ 'ab'.startswith('a') }}|{{ 'x{}'.format(1) }}",
            "Hello|b|True|x1",
        ),
        (
            "{% for k, v in messages[1].calls.items() %}{% if loop.index == 2 %}{% continue %}{% endif %}{{ k }}{% endfor %}",
            "bbige",
        ),
        ("{%- generation %}said{% endgeneration -%} ", "said"),
        ("a\n{% if true %}\n  b\n{% endif %}\n", "a\n  b\n"),
        (
            "{{ messages[::-1][0].role }}{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
            "assistant1",
        ),
        (
            "{{ strftime_now('%d %B %Y, %H:%M') }}",
            "31 January 2025, 12:00",
        ),
        (
            "{{ add_generation_prompt }}{{ tools }}{{ bos_token }}",
            "True[]",
        ),
    ] {
        assert_eq!(render(template).as_deref(), Ok(want), "{template}");
    }
}

#[test]
fn what_a_template_refuses_is_told_with_its_line() {
    for (template, why) in [
        (
            "\n{{ raise_exception('roles must alternate') }}",
            "roles must alternate (in chat:2)",
        ),
        ("{% if %}", "syntax error"),
        ("{{ messages[0].content.nosuch() }}", "nosuch"),
        ("{{ [].pop() }}", "pop from an empty place"),
        ("{{ missing.content }}", "undefined"),
    ] {
        let error = render(template).expect_err(why);
        assert!(error.contains(why), "{template}: {error}");
    }
}

#[test]
fn bounds_are_told_apart() {
    let long = ChatTemplate::new("{{ messages }}", &options().max_source(5)).expect_err("too long");
    assert!(long.bound, "{long}");
    for (template, bound) in [
        ("{% for i in range(100000) %}{% endfor %}", true),
        (
            "{% for i in range(1000) %}{{ 'x' * 1000 }}{% endfor %}",
            true,
        ),
        ("{{ raise_exception('no') }}", false),
    ] {
        let template = ChatTemplate::new(template, &options().fuel(50_000).max_output(100_000))
            .expect("a template");
        let error = template
            .render(&json!([]), None, false)
            .expect_err("a bound");
        assert_eq!(error.bound, bound, "{error}");
    }
}

/// Values that nest as deeply as the steps allow are freed, whoever holds them.
#[test]
fn deep_values_are_freed() {
    let open = "[".repeat(30);
    let close = "]".repeat(30);
    for step in [
        format!("{open}ns.l{close}"),
        "{'a': ns.l}".to_owned(),
        "(ns.l,)".to_owned(),
        "{'a': ns.l} | dictsort".to_owned(),
    ] {
        let template = format!(
            "{{%- set ns = namespace(l=[]) %}}{{%- for i in range(90000) %}}{{%- set ns.l = {step} %}}{{%- endfor %}}"
        );
        let template = ChatTemplate::new(&template, &options().fuel(200_000)).expect("a template");
        let error = template
            .render(&json!([]), None, false)
            .expect_err("out of steps");
        assert!(error.bound, "{step}: {error}");
    }
    let deep = "{%- set ns = namespace(l=[]) %}{%- for i in range(300) %}{%- set ns.l = [ns.l] %}{%- endfor %}{{ ns.l | tojson }}";
    let error = render(deep).expect_err("too deep");
    assert!(error.contains("more than 256 deep"), "{error}");
}

/// Without a clock the variable counts.
#[test]
fn the_date_may_be_a_variable() {
    let mut options = TemplateOptions::default();
    options
        .variables
        .insert("date_string".to_owned(), json!("today"));
    let template = ChatTemplate::new("{{ strftime_now('%Y') }}", &options).expect("a template");
    assert_eq!(
        template.render(&json!([]), None, false).as_deref(),
        Ok("today")
    );
}
