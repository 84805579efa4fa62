use std::sync::Arc;

use proptest::prelude::*;
use toolglot::json::{Value, json};
use toolglot::{DialectSet, Finish, Options, builtin_files, parse};

use super::{Lang, Layout, Part, PromptError, PromptOptions, Prompts, Stops, tokens};
use crate::outcome::{RenderOptions, Renderer, Status, ToolResult};
use crate::{CallConfig, Example, Inventory, NameRule, Registry, Tool, ToolKind, read};

/// A layout of a built-in dialect, with switches enabled.
pub(crate) fn layout(dialect: &str, switches: &[&str]) -> Layout {
    let builder = DialectSet::builder().builtin(dialect);
    let builder = switches
        .iter()
        .fold(builder, |builder, switch| builder.switch(dialect, switch));
    Layout::new(&builder.build().expect("a set"), dialect).expect("a layout")
}

fn golden(path: &str) -> String {
    let path = format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect(&path)
}

pub(crate) fn golden_tools() -> Inventory {
    let tools = read::any("tools.json", &golden("tools.json")).expect("definitions");
    Inventory::of(tools).expect("an inventory")
}

/// Golden files of a kind: `dialect[+switch][.lang]`, with the text after the line that names its source.
pub(crate) fn goldens(kind: &str, mut check: impl FnMut(&str, Layout, Lang, &str)) -> usize {
    let folder = format!("{}/../tests/golden/{kind}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name")
            .to_owned();
        let text = std::fs::read_to_string(&path).expect("a golden file");
        let (source, text) = text.split_once('\n').expect("a source");
        assert!(source.starts_with("source: "), "{name}");
        let (stem, langs) = match name.rsplit_once('.') {
            Some((stem, "zh")) => (stem, vec![Lang::Zh]),
            Some((stem, "en")) => (stem, vec![Lang::En]),
            _ => (name.as_str(), vec![Lang::Zh, Lang::En]),
        };
        let (dialect, switches) = match stem.split_once('+') {
            Some((dialect, switch)) => (dialect, vec![switch]),
            None => (stem, vec![]),
        };
        for lang in langs {
            count += 1;
            check(
                &name,
                layout(dialect, &switches),
                lang,
                text.trim_end_matches('\n'),
            );
        }
    }
    count
}

fn speaking(lang: Lang) -> PromptOptions<'static> {
    PromptOptions {
        lang,
        ..PromptOptions::default()
    }
}

pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    let calls = |id: &&str| !id.starts_with("reasoning-");
    builtin_files().iter().map(|(id, _)| *id).filter(calls)
}

#[test]
fn prompts_are_those_of_the_real_systems() {
    // Items 15, 17, 32, 56, 57, 58, 62, 72 and 115 of the checklist: the layouts, in both languages.
    let tools = golden_tools();
    let mut wrong = vec![];
    let count = goldens("prompt", |name, layout, lang, want| {
        let have = layout.system(&tools, &speaking(lang)).expect("a prompt");
        if have != want {
            wrong.push(format!("{name} {}:\n{have}\n", lang.name()));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count}");
}

/// A golden file without the line that names its source.
pub(crate) fn golden_text(path: &str) -> String {
    let text = golden(path);
    let (_, text) = text.split_once('\n').expect("a source");
    text.trim_end_matches('\n').to_owned()
}

/// Dialects without their own golden file.
pub(crate) fn without_golden(kind: &str) -> impl Iterator<Item = &'static str> {
    let folder = format!("{}/../tests/golden/{kind}", env!("CARGO_MANIFEST_DIR"));
    let is = move |name: String| std::path::Path::new(&folder).join(name).exists();
    ids().filter(move |id| !is(format!("{id}.txt")) && !is(format!("{id}.en.txt")))
}

/// All others have the golden text of the general layout, with the call in it in their own syntax.
#[test]
fn the_general_layout_is_the_same_for_all_that_have_it() {
    let tools = golden_tools();
    let mut count = 0;
    for lang in [Lang::Zh, Lang::En] {
        let want = golden_text(&format!("prompt/tool-call-xml.{}.txt", lang.name()));
        let (before, behind) = (
            want.find("<tool_call name=").expect("a call"),
            "</tool_call>",
        );
        let behind = want.rfind(behind).expect("its end") + behind.len();
        for id in without_golden("prompt") {
            let layout = layout(id, &[]);
            count += 1;
            let have = layout.system(&tools, &speaking(lang)).expect(id);
            let own = have
                .strip_prefix(want[..before].trim_end())
                .and_then(|rest| rest.strip_suffix(want[behind..].trim_start()))
                .unwrap_or_else(|| {
                    panic!("{id} has words of its own and no tests/golden/prompt/{id}.LANG.txt to show them: {have}")
                });
            let hints = Arc::new(tools.hints(id, layout.rule()).expect("hints"));
            let options = Options::default().tools(hints);
            let set = DialectSet::builtin(id).expect("a set");
            let turn = parse(&set, options, own.trim().as_bytes(), Finish::Stop);
            let calls: Vec<_> = turn
                .calls
                .iter()
                .map(|call| (call.name.as_str(), call.arguments.as_str()))
                .collect();
            match own.trim() {
                // The dialect has its own actions, and no call of a tool.
                "" => assert_eq!(id, "bolt-action"),
                _ => assert_eq!(calls, [("get_weather", r#"{"city":"..."}"#)], "{id}: {own}"),
            }
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn every_dialect_has_a_prompt_and_says_where_it_comes_from() {
    let tools = golden_tools();
    for id in ids() {
        let layout = layout(id, &[]);
        for lang in [Lang::Zh, Lang::En] {
            let text = layout.system(&tools, &speaking(lang)).expect(id);
            assert!(
                !text.ends_with('\n') && text.contains("Tells the weather of a city"),
                "{id}: {text}"
            );
        }
    }
}

#[test]
fn the_list_of_the_tam_document() {
    // TAM document, section 6.2, word for word.
    let tool = Tool::new("FileOperator.ApplyEdit")
        .description("用于精确替换文件中的一行或多行文本。")
        .parameters(json!({"type": "object", "properties": {
            "filePath": {"type": "string", "description": "文件的绝对路径。"},
            "search_string": {"type": "string", "description": "要查找并替换的旧内容。"},
            "replace_string": {"type": "string", "description": "用于替换的新内容。"},
        }, "required": ["filePath", "search_string", "replace_string"]}));
    let tools = Inventory::of([tool]).expect("an inventory");
    assert_eq!(
        layout("tam", &[])
            .tools(&tools, &speaking(Lang::Zh))
            .expect("a prompt"),
        "[可用工具参考]\n- Tool ID: FileOperator.ApplyEdit\n  - 描述: 用于精确替换文件中的一行或多行文本。\n  - 参数:\n    \
         - filePath (string, required): 文件的绝对路径。\n    - search_string (string, required): 要查找并替换的旧内容。\n    \
         - replace_string (string, required): 用于替换的新内容。"
    );
}

#[test]
fn the_rule_of_the_tam_document_and_its_block() {
    // TAM document, section 6.2 item 4: the command is one of the granted ids; the block of section 3.1.1.
    let tools = Inventory::of([Tool::new("FileOperator.ApplyEdit").description("x")]);
    let tools = tools.expect("an inventory");
    let usage = layout("tam", &[])
        .usage(&tools, &speaking(Lang::Zh))
        .expect("usage");
    let [rule, block] = [
        "command 必须是上面列出的 Tool ID 之一。\n",
        "\n<|[REQUEST_TOOL]|>\ncommand:「始」ToolID「末」\nparameter_A:「始」参数值 A「末」\nparameter_B:「始」参数值 B，\n可以是多行。\n「末」\n<|[END_TOOL]|>",
    ]
    .map(|part| usage.find(part).expect(part));
    assert!(rule < block, "{usage}");
    let set = DialectSet::builtin("tam").expect("a set");
    let turn = parse(&set, Options::default(), usage.as_bytes(), Finish::Stop);
    assert_eq!((turn.calls.len(), turn.issues.len()), (1, 0), "{turn:?}");
    assert_eq!(
        turn.calls[0].arguments,
        r#"{"parameter_A":"参数值 A","parameter_B":"参数值 B，\n可以是多行。\n"}"#
    );
}

#[test]
fn the_five_instructions_of_the_action_document() {
    let usage = layout("action", &[])
        .usage(&golden_tools(), &PromptOptions::default())
        .expect("usage");
    // Section 4.1: wrapped, XML inside, CDATA, omitted if not needed, explanation first.
    for (n, what) in [
        "wrap the instruction in `<ACTION>...</ACTION>`",
        "Inside `<ACTION>` is XML",
        "use `<![CDATA[...]]>`",
        "without an `<ACTION>` tag",
        "Before the `<ACTION>` block, explain",
    ]
    .iter()
    .enumerate()
    {
        let line = usage.lines().filter(|line| line.starts_with("- ")).nth(n);
        assert!(line.expect("a line").contains(what), "{usage}");
    }
}

#[test]
fn tools_and_skills_are_listed_separately() {
    // Agent tool invocation protocol, section 4.2, word for word.
    let want = r#"You have access to the following tools and skills:

**Tools (direct function calls):**

*   `<ReadWorldStateTool>`: Reads a value from the shared world state.
    *   Parameters:
        *   `<path>` (string, required): The dot-separated path to the value in the world state (e.g., "environment.time.current_hour").
        *   `<default_value>` (any, optional): Value to return if path is not found.
*   `<UpdatePrivateStateTool>`: Updates a value in your private state.
    *   Parameters:
        *   `<key>` (string, required): The key in your private state to update.
        *   `<value>` (any, required): The new value for the key.
*   `<PublishEventTool>`: Publishes an event to the event bus.
    *   Parameters:
        *   `<event_type>` (string, required): The type of the event (e.g., "agent.action.completed").
        *   `<payload>` (object, optional): A JSON object string, or XML structure parsable to an object, containing event data. Use CDATA if complex.
            *   Example: `<payload><![CDATA[{"message": "Task done"}]]></payload>`

**Skills (workflow executions):**

*   `<skill_greet_player>`: Greets the player appropriately based on context.
    *   Parameters:
        *   `<player_id>` (string, required): The ID of the player to greet.
        *   `<greeting_context>` (string, optional): Additional context for the greeting (e.g., "first_encounter", "quest_reminder").
*   `<skill_generate_image_description>`: Generates a textual description for an image, possibly to be used by another image generation skill.
    *   Parameters:
        *   `<image_analysis_data>` (object, required): Data from a previous image analysis step. Use CDATA for complex JSON/XML.
        *   `<desired_style>` (string, optional): Preferred style for the description (e.g., "poetic", "technical").

When you decide to use a tool or skill, first explain your reasoning, then output the <ACTION> block with the chosen tool/skill ID as the main tag, and its parameters as child tags. If no action is needed, just provide your textual response."#;
    let part = |name: &str, kind: &str, about: &str| {
        let mut schema = json!({"description": about});
        if kind != "any" {
            schema["type"] = kind.into();
        }
        if name == "payload" {
            schema["examples"] = json!([{"message": "Task done"}]);
        }
        (name.to_owned(), schema)
    };
    let tool = |id: &str, about: &str, parts: [(String, Value); 2], required: &[&str]| {
        let parts: toolglot::json::Map = parts.into_iter().collect();
        let mut schema = json!({"type": "object", "properties": parts});
        schema["required"] = required.iter().map(|name| Value::from(*name)).collect();
        Tool::new(id).description(about).parameters(schema)
    };
    let mut tools = vec![
        tool(
            "ReadWorldStateTool",
            "Reads a value from the shared world state.",
            [
                part(
                    "path",
                    "string",
                    "The dot-separated path to the value in the world state (e.g., \"environment.time.current_hour\").",
                ),
                part(
                    "default_value",
                    "any",
                    "Value to return if path is not found.",
                ),
            ],
            &["path"],
        ),
        tool(
            "UpdatePrivateStateTool",
            "Updates a value in your private state.",
            [
                part("key", "string", "The key in your private state to update."),
                part("value", "any", "The new value for the key."),
            ],
            &["key", "value"],
        ),
        tool(
            "PublishEventTool",
            "Publishes an event to the event bus.",
            [
                part(
                    "event_type",
                    "string",
                    "The type of the event (e.g., \"agent.action.completed\").",
                ),
                part(
                    "payload",
                    "object",
                    "A JSON object string, or XML structure parsable to an object, containing event data. Use CDATA if complex.",
                ),
            ],
            &["event_type"],
        ),
        tool(
            "skill_greet_player",
            "Greets the player appropriately based on context.",
            [
                part("player_id", "string", "The ID of the player to greet."),
                part(
                    "greeting_context",
                    "string",
                    "Additional context for the greeting (e.g., \"first_encounter\", \"quest_reminder\").",
                ),
            ],
            &["player_id"],
        ),
        tool(
            "skill_generate_image_description",
            "Generates a textual description for an image, possibly to be used by another image generation skill.",
            [
                part(
                    "image_analysis_data",
                    "object",
                    "Data from a previous image analysis step. Use CDATA for complex JSON/XML.",
                ),
                part(
                    "desired_style",
                    "string",
                    "Preferred style for the description (e.g., \"poetic\", \"technical\").",
                ),
            ],
            &["image_analysis_data"],
        ),
    ];
    for skill in &mut tools[3..] {
        skill.kind = ToolKind::Skill;
    }
    // Skills are listed separately, whatever their order.
    tools.swap(0, 3);
    tools.swap(1, 3);
    tools.swap(2, 3);
    let tools = Inventory::of(tools).expect("an inventory");
    let have = layout("action", &[]).tools(&tools, &PromptOptions::default());
    assert_eq!(have.expect("a prompt"), want);
}

/// `true` is a schema for any value.
#[test]
fn schemas_that_are_no_objects_are_shown() {
    let schema = json!({"type": "object", "properties": {
        "any": true,
        "none": false,
        "inner": {"type": "object", "properties": {"any": true}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"any": true}}},
    }});
    let tools = Inventory::of([Tool::new("f").description("d").parameters(schema)]).expect("tools");
    for id in ids() {
        let layout = layout(id, &[]);
        let options = PromptOptions::default();
        let text = layout
            .tools(&tools, &options)
            .and_then(|tools_text| Ok(tools_text + &layout.usage(&tools, &options)?));
        text.unwrap_or_else(|error| panic!("{id}: {error}"));
    }
}

#[test]
fn examples_are_calls_that_the_parser_reads() {
    let tools = golden_tools();
    for id in ids() {
        let layout = layout(id, &[]);
        let usage = layout.usage(&tools, &PromptOptions::default()).expect(id);
        let hints = Arc::new(tools.hints(id, layout.rule()).expect("hints"));
        let options = Options::default().tools(hints);
        let set = DialectSet::builtin(id).expect("a set");
        let turn = parse(&set, options, usage.as_bytes(), Finish::Stop);
        for call in &turn.calls {
            // Words of a chat template may not be real calls; those that are have a name.
            assert!(!call.name.is_empty(), "{id}: {call:?}");
        }
        if layout.sources().is_empty() && usage.contains("get_weather") {
            assert!(
                turn.calls.iter().any(|call| call.name == "get_weather"),
                "{id}: {usage}\n{turn:?}"
            );
        }
    }
    let action = layout("action", &[])
        .usage(&tools, &PromptOptions::default())
        .expect("usage");
    let set = DialectSet::builtin("action").expect("a set");
    let turn = parse(&set, Options::default(), action.as_bytes(), Finish::Stop);
    let calls: Vec<(&str, &str)> = turn
        .calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect();
    // Simple, list, nested, CDATA, and the mistake of section 5.5 with its correction.
    let want = [
        (
            "ReadWorldStateTool",
            r#"{"path":"environment.weather.current_conditions","default_value":"unknown"}"#,
        ),
        ("GreetPlayers", r#"{"names":{"item":["Alice","Bob"]}}"#),
        (
            "read_file",
            r#"{"args":{"file":[{"path":"src/app.ts"},{"path":"src/utils.ts"}]}}"#,
        ),
        ("ApplyProjectDiff", turn.calls[3].arguments.as_str()),
        ("GetPlayerInfo", r#"{"playerId":"player123"}"#),
        ("GetPlayerInfo", r#"{"player_id":"player123"}"#),
    ];
    assert_eq!(calls, want);
    // A list is read as one only if the tool's schema says so.
    let greet =
        Tool::new("GreetPlayers").parameters(json!({"properties": {"names": {"type": "array"}}}));
    let greet = Inventory::of([greet]).expect("an inventory");
    let checked = greet.check(&turn.calls[1], &crate::CheckOptions::default());
    assert_eq!(checked.text(), r#"{"names":["Alice","Bob"]}"#);
    let diff: Value = serde_json::from_str(&turn.calls[3].arguments).expect("JSON");
    let diff = diff["diff_patch"].as_str().expect("a text");
    assert!(
        diff.contains("--- a/config/settings.json\n+++ b/config/settings.json\n"),
        "{diff}"
    );
    assert!(diff.contains("+  \"feature_enabled\": true,\n"), "{diff}");
    // Not a tool.
    assert!(action.contains(
        "\nThe weather is currently sunny and pleasant. It's a great day for an adventure!\n"
    ));
    assert!(action.contains("\nObservation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', did you mean 'player_id'?\n"));
}

#[test]
fn definitions_are_sorted_whatever_order_they_came_in() {
    let one = |id: &str| Tool::new(id).description("x");
    let vcp = layout("vcp", &[]);
    let text = |ids: [&str; 3]| {
        let tools = Inventory::of(ids.map(one)).expect("an inventory");
        vcp.tools(&tools, &PromptOptions::default())
            .expect("a prompt")
    };
    assert_eq!(text(["b:x", "a:y", "a:x"]), text(["a:x", "a:y", "b:x"]));
    assert!(
        text(["b:x", "a:y", "a:x"])
            .contains("<<<[END_TOOL_DEFINITION]>>>\n\n<<<[TOOL_DEFINITION]>>>\n")
    );
}

#[test]
fn a_tool_is_called_by_its_command() {
    let mut tool = Tool::new("fs:read").description("Reads");
    tool.commands
        .push(("vcp".to_owned(), "FileRead".to_owned()));
    let tools = Inventory::of([tool]).expect("an inventory");
    let text = layout("vcp", &[])
        .tools(&tools, &PromptOptions::default())
        .expect("a prompt");
    assert!(
        text.contains("tool_name:「始」FileRead「末」\n") && !text.contains("fs:read"),
        "{text}"
    );
    let text = layout("action", &[])
        .tools(&tools, &PromptOptions::default())
        .expect("a prompt");
    assert!(text.contains("`<fs_read>`"), "{text}");
}

#[test]
fn the_template_has_format_and_list_and_says_where_there_are_none() {
    let text = layout("tool-action", &[])
        .system(&golden_tools(), &speaking(Lang::Zh))
        .expect("a prompt");
    let parts = [
        "## 可用工具\n",
        "<tool_action name=\"tool_name\">\n<param1 value=\"value1\"/>\n",
        "### 工具列表\n\n### get_weather\n",
        "### ping\n",
        "### 使用说明\n",
        "### 示例\n\n<tool_action name=\"get_weather\">\n<city value=\"",
    ];
    let places = parts.map(|part| text.find(part).expect(part));
    assert!(places.is_sorted(), "{text}");
    let none = Inventory::default();
    let text = layout("tool-action", &[])
        .system(&none, &speaking(Lang::Zh))
        .expect("a prompt");
    assert_eq!(text, "## 可用工具\n\n当前没有可用的工具。");
    for id in ids().filter(|id| *id != "tool-action") {
        assert_eq!(
            layout(id, &[])
                .system(&none, &PromptOptions::default())
                .expect(id),
            "",
            "{id}: a prompt without tools"
        );
    }
}

fn registry() -> Arc<Registry> {
    let registry = Registry::new();
    let tool = |id: &str| Tool::new(id).description(id).callable(true);
    let hidden = Tool::new("fs:wipe").description("never granted");
    registry
        .register([tool("fs:read"), tool("fs:write"), tool("weather"), hidden])
        .expect("tools");
    Arc::new(registry)
}

#[test]
fn macros_list_the_offered_tools() {
    let prompts = Prompts::new(layout("tam", &[]), registry());
    let expand = |text: &str, config: &CallConfig| {
        prompts
            .expand(text, "a", config, &PromptOptions::default())
            .expect("a prompt")
    };
    let off = expand(
        "A{{tools}}B{{ tool_usage }}C{{tools::weather}}",
        &CallConfig::default(),
    );
    assert_eq!(off.text, "ABC");
    // An empty configuration has the defaults, which allow nothing.
    let nothing: CallConfig = serde_json::from_str("{}").expect("a configuration");
    assert_eq!(expand("A{{tools}}B{{tool_usage}}C", &nothing).text, "ABC");
    let on = expand("{{tools}}", &CallConfig::enabled());
    assert!(
        on.text.contains("fs:read") && on.text.contains("weather") && !on.text.contains("fs:wipe")
    );
    assert_eq!(on.tokens, tokens(&on.text));
    let some = expand("{{tools::weather::fs:wipe::nope}}", &CallConfig::enabled());
    assert!(
        some.text.contains("weather") && !some.text.contains("fs:"),
        "{}",
        some.text
    );
    assert_eq!(some.unknown, ["fs:wipe", "nope"]);
    let mut granted = CallConfig::enabled();
    granted.tool_ids_inventory = Some(vec!["fs:read".to_owned()]);
    let one = expand("{{tools}}{{tool_usage}}", &granted);
    assert!(
        one.text.contains("fs:read")
            && !one.text.contains("weather")
            && one.text.contains("REQUEST_TOOL")
    );
    // Everything else is unchanged.
    for text in [
        "{{",
        "{{{tools}",
        "{{user}} {{tools",
        "}}{{tool_usage::x}}",
        "{{ t{{x}} }}",
    ] {
        assert_eq!(expand(text, &granted).text, text);
    }
    assert!(expand("{{{tools}}}", &granted).text.starts_with("{["));
}

#[test]
fn texts_are_kept_while_nothing_changed() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let registry = registry();
    let prompts = Prompts::new(layout("vcp", &[]), Arc::clone(&registry)).knowledge(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        None
    });
    let expand = |agent: &str, config: &CallConfig| {
        prompts
            .expand("{{tools}}", agent, config, &PromptOptions::default())
            .expect("a prompt");
        asked.swap(0, Ordering::Relaxed)
    };
    let config = CallConfig::enabled();
    assert_eq!(
        [
            expand("a", &config),
            expand("a", &config),
            expand("b", &config)
        ],
        [3, 0, 3]
    );
    let mut other = config.clone();
    other.tool_toggles.insert("fs".to_owned(), false);
    assert_eq!(
        [
            expand("a", &other),
            expand("a", &other),
            expand("a", &config)
        ],
        [1, 0, 0]
    );
    registry
        .register([Tool::new("new").description("x").callable(true)])
        .expect("a tool");
    assert_eq!([expand("a", &config), expand("a", &config)], [4, 0]);
    assert_eq!(prompts.cached(), 1);
    registry.unregister("new");
    assert_eq!(expand("a", &config), 3);
    prompts.clear();
    assert_eq!(expand("a", &config), 3);
}

#[test]
fn knowledge_extends_a_definition() {
    let tools = golden_tools();
    let knowledge = |tool: &Tool| (tool.id == "ping").then(|| "Mind the gap.".to_owned());
    let options = PromptOptions {
        knowledge: Some(&knowledge),
        ..PromptOptions::default()
    };
    for id in ["tam", "action", "vcp", "tool-action", "jamba"] {
        let text = layout(id, &[]).tools(&tools, &options).expect(id);
        assert_eq!(text.matches("Mind the gap.").count(), 1, "{id}: {text}");
    }
}

#[test]
fn tokens_are_estimated() {
    assert_eq!(tokens(""), 0);
    assert_eq!(tokens("abcd"), 1);
    assert_eq!(tokens("abcde天气预报"), 4);
    // A host that knows the model has a better counter.
    let prompts = Prompts::new(layout("tam", &[]), registry()).counting(str::len);
    let config = CallConfig::enabled();
    let expand = |text| prompts.expand(text, "a", &config, &PromptOptions::default());
    let out = expand("x{{tools}}y{{tools}}").expect("a prompt");
    assert_eq!(out.tokens, out.text.len() - 2);
}

#[test]
fn a_dialect_file_has_all_that_a_protocol_has() {
    let file = r#"
id = "mine"
title = "Mine"
deltas = "live"
[named_params]
call = "do"
param = "p"
name = "n"
nameless = ["<p"]
confirm = 64
[prompt]
tools = "{% for tool in tools %}{{ tool.name }}={{ tool.example }};{% endfor %}"
usage = "Write {{ call('f', {'a': 'b'}) }}."
results = "{% for result in results %}[{{ result.name }}: {{ result.text }}]{% endfor %}"
stop = ["HALT"]
"#;
    let set = DialectSet::builder()
        .toml("mine.toml", file)
        .build()
        .expect("a dialect");
    let layout = Layout::new(&set, "mine").expect("a layout");
    let tools = Inventory::of([Tool::new("t").description("x")]).expect("an inventory");
    let options = PromptOptions::default();
    assert_eq!(
        layout.tools(&tools, &options).expect("a prompt"),
        "t=<do n=\"t\">\n</do>;"
    );
    assert_eq!(
        layout.usage(&tools, &options).expect("a prompt"),
        "Write <do n=\"f\">\n<p name=\"a\">b</p>\n</do>.".replace("name=", "n=")
    );
    assert_eq!(layout.stops(), ["HALT"]);
    // Its id, its calls and its results.
    let turn = parse(
        &set,
        Options::default(),
        b"<do n=\"f\"><p n=\"a\">b</p></do>",
        Finish::Stop,
    );
    let call = &turn.calls[0];
    assert_eq!(
        [&call.dialect, &call.name, &call.arguments],
        ["mine", "f", r#"{"a":"b"}"#]
    );
    let results = [
        ToolResult::text("1", "f", Status::Success, "good"),
        ToolResult::text("2", "f", Status::Error, "bad"),
    ];
    let renderer = Renderer::new(&set, layout.clone()).expect("a renderer");
    assert_eq!(
        renderer
            .render(&results, &RenderOptions::default())
            .expect("results"),
        "[f: good][f: Error: bad]"
    );
    let layout = layout.with(Part::Tools, "general-tools").expect("a layout");
    assert!(
        layout
            .tools(&tools, &options)
            .expect("a prompt")
            .starts_with("# Available tools")
    );
    // The error is reported.
    assert!(matches!(
        layout.clone().with(Part::Tools, "{% for %}"),
        Err(PromptError::Template { .. })
    ));
    assert!(matches!(
        layout.clone().with(Part::Tools, "nothing"),
        Err(PromptError::Template { .. })
    ));
    assert!(matches!(
        layout
            .with(Part::Tools, "{{ oops }}")
            .expect("a layout")
            .tools(&tools, &options),
        Err(PromptError::Template { .. })
    ));
    assert!(matches!(
        Layout::new(&set, "yours"),
        Err(PromptError::Dialect { .. })
    ));
}

#[test]
fn built_in_dialects_have_no_layouts_that_files_lack() {
    let tools = golden_tools();
    for (id, text) in builtin_files()
        .iter()
        .filter(|(id, _)| !id.starts_with("reasoning-"))
    {
        let file = text.replacen(&format!("id = \"{id}\""), "id = \"mine\"", 1);
        let set = DialectSet::builder()
            .toml("mine.toml", &file)
            .build()
            .expect(id);
        let mine = Layout::new(&set, "mine").expect(id);
        let own = layout(id, &[]);
        let options = PromptOptions::default();
        assert_eq!(
            mine.system(&tools, &options),
            own.system(&tools, &options),
            "{id}"
        );
    }
}

#[test]
fn stop_sequences_follow_their_rule() {
    let stops =
        |id: &str| Stops::of(&DialectSet::builtin(id).expect("a set"), id).expect("a dialect");
    assert_eq!(stops("harmony").turn, ["<|call|>", "<|return|>"]);
    assert_eq!(
        stops("vcp").turn,
        ["[[VCP调用结果信息汇总:", "[[AIO工具调用结果信息汇总:"]
    );
    assert_eq!(stops("vcp").block, ["<<<[END_TOOL_REQUEST]>>>"]);
    assert_eq!(stops("tool-action").block, ["</tool_action>"]);
    assert_eq!(
        stops("llama3-json").turn,
        [
            "<|eom_id|>",
            "<|eot_id|>",
            "<|eom|>",
            "<|eot|>",
            "<|begin_of_text|>",
            "<|end_of_text|>",
            "<|start_header_id|>",
            "<|header_start|>"
        ]
    );
    assert!(
        stops("react-text")
            .turn
            .contains(&"Observation:".to_owned())
    );
    for id in ids() {
        let stops = stops(id);
        let all = stops.turn.iter().chain(&stops.block);
        assert!(
            all.clone().all(|stop| !stop.trim().is_empty()),
            "{id}: {stops:?}"
        );
    }
}

#[test]
fn json_in_templates_keeps_its_spelling() {
    let schema = serde_json::from_str(
        r#"{"properties": {"z": {"default": 1.50, "maximum": 123456789012345678901234567890}, "a": {"default": null}}}"#,
    );
    let tool = Tool::new("t")
        .description("\"q\"")
        .parameters(schema.expect("a schema"));
    let tools = Inventory::of([tool]).expect("an inventory");
    let layout = layout("jamba", &[]).with(Part::Tools, "{% for t in tools %}{{ t.parameters | json }} {{ t.parameters }} {{ t.params[0].default }} {{ [1, 2.5, 'x', none, true, {'k': 'v'}] | json }}{% endfor %}");
    let text = layout
        .expect("a layout")
        .tools(&tools, &PromptOptions::default())
        .expect("a prompt");
    let json = r#"{"properties": {"z": {"default": 1.50, "maximum": 123456789012345678901234567890}, "a": {"default": null}}}"#;
    assert_eq!(
        text,
        format!("{json} {json} 1.50 [1, 2.5, \"x\", null, true, {{\"k\": \"v\"}}]")
    );
}

#[test]
fn a_tools_own_examples_are_shown() {
    let mut tool = Tool::new("weather")
        .description("x")
        .parameters(json!({"properties": {"days": {"type": "integer"}}}));
    let arguments = json!({"days": 3}).as_object().expect("an object").clone();
    tool.examples.push(Example {
        description: Some("Three days:".to_owned()),
        arguments,
    });
    let tools = Inventory::of([tool]).expect("an inventory");
    let text = layout("tam", &[])
        .usage(&tools, &PromptOptions::default())
        .expect("a prompt");
    assert!(text.ends_with("Three days:\n<|[REQUEST_TOOL]|>\ncommand:「始」weather「末」\ndays:「始」3「末」\n<|[END_TOOL]|>"), "{text}");
    assert_eq!(layout("tam", &[]).rule(), NameRule::Id);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// A prompt never fails, whatever a definition says.
    #[test]
    fn no_definition_breaks_a_layout(description in any::<String>(), key in "[a-z<>{}\"'「」%]{1,6}", value in any::<String>()) {
        let schema = json!({"type": "object", "properties": {(key.clone()): {"type": ["string", "null"], "description": value, "default": value, "enum": [value, 1, null]}}, "required": [key]});
        let tools = Inventory::of([Tool::new("t").description(&description).parameters(schema)]).expect("an inventory");
        for id in ["tam", "vcp", "action", "tool-action", "hermes", "qwen3-coder", "harmony", "seed-oss", "jamba"] {
            let text = layout(id, &[]).system(&tools, &PromptOptions::default());
            prop_assert!(text.is_ok(), "{id}: {text:?}");
        }
    }
}
