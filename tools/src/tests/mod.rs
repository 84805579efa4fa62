//! Definitions are read unchanged, names stay distinct, and nothing is callable unless somebody allowed it.

mod agree;
mod check;
mod chinese;
mod coerce;
mod hostile;
mod suite;

use toolglot::json::json;

use super::read;
use super::*;

/// The manifest of seed 000, section 5.2.
const MANIFEST: &str = r#"
name: my-awesome-plugin
tools:
  - id: "my-awesome-plugin:magic_node_tool" # namespace
    displayName: "神奇节点工具"
    description: "一个封装了 MagicNode 的工具。"
    parameters:
      type: object
      properties:
        strength:
          type: number
          description: "魔法强度"
          defaultValue: 0.7
        target:
          type: string
          description: "目标对象"
      required: ["strength", "target"]
    implementation:
      type: "node"
      nodeType: "my-awesome-plugin:MagicNode"
  - id: "my-awesome-plugin:complex_workflow_tool"
    displayName: "复杂工作流工具"
    description: "一个封装了复杂工作流的工具。"
    agentCallable: true
    protocolConfig: { vcpCommand: ComplexWorkflow }
    implementation:
      type: "workflow"
      workflowId: "workflows/my_complex_workflow.json"
"#;

/// Items 5, 6, 7 and 8 of the checklist: namespaces, metadata, the manifest, kinds of implementations.
#[test]
fn a_manifest_is_read() {
    let tools = read::any("plugin.yaml", MANIFEST).expect("tools");
    let [magic, flow] = tools.as_slice() else {
        panic!("two tools")
    };
    assert_eq!(magic.namespace(), Some("my-awesome-plugin"));
    assert_eq!(magic.display_name.as_deref(), Some("神奇节点工具"));
    let strength = magic.properties().next().expect("a property");
    assert_eq!(strength.1["default"], json!(0.7));
    assert!(magic.requires("target") && !magic.requires("nothing"));
    assert!(!magic.agent_callable && flow.agent_callable);
    let node = magic.implementation.as_ref().expect("an implementation");
    assert_eq!(node.kind, ImplementationKind::Node);
    assert_eq!(node.target, "my-awesome-plugin:MagicNode");
    assert_eq!(flow.command("vcp"), Some("ComplexWorkflow"));
}

/// The namespace is enforced if the manifest states whose tools they are.
#[test]
fn a_tool_of_a_plugin_has_its_namespace() {
    let ids = |text: &str| -> Vec<String> {
        let tools = read::any("plugin.yaml", text).expect("tools");
        tools.into_iter().map(|tool| tool.id).collect()
    };
    let tools = "tools:\n  - id: \"find\"\n  - id: \"其他:查\"\n";
    assert_eq!(
        ids(&format!("name: 我的插件\nversion: 1.0.0\n{tools}")),
        ["我的插件:find", "其他:查"]
    );
    assert_eq!(ids(tools), ["find", "其他:查"]);
    assert_eq!(ids(&format!("name: \"\"\n{tools}")), ["find", "其他:查"]);
    let both = "name: p\ntools:\n  - id: find\n  - id: \"p:find\"\n";
    let listing = read::listing("plugin.yaml", both).expect("a list");
    assert_eq!((listing.tools.len(), listing.odd.len()), (1, 1));
}

#[test]
fn lists_of_interfaces_are_read_and_keep_their_order() {
    let schema = json!({"type": "object", "properties": {"z": {}, "a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {}}});
    let openai = json!([{"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}]);
    let anthropic = json!([{"name": "f", "description": "d", "input_schema": schema}]);
    let mcp = json!({"tools": [{"name": "f", "description": "d", "inputSchema": schema, "annotations": {"readOnlyHint": true}}]});
    for (list, callable) in [(openai, true), (anthropic, true), (mcp, false)] {
        let tools = read::any("tools.json", &list.to_string()).expect("tools");
        assert_eq!(tools[0].agent_callable, callable, "{list}");
        let names: Vec<&str> = tools[0].properties().map(|(name, _)| name).collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(
            tools[0].parameters.as_ref().expect("a schema").to_string(),
            schema.to_string()
        );
        assert_eq!(tools[0].extra.contains_key("annotations"), !callable);
    }
    assert_eq!(
        read::prefixed("files", read::any("x", r#"[{"name":"f"}]"#).expect("tools"))[0].id,
        "files:f"
    );
}

/// Every form of an entry is read in every list, and types by all of their names.
#[test]
fn lists_are_read_in_any_form() {
    let schema = json!({"type": "OBJECT", "properties": {"z": {"type": "STRING"}}});
    let bare = |key: &str| {
        let mut tool = json!({"name": "f"});
        tool[key] = schema.clone();
        tool
    };
    for key in [
        "parameters",
        "input_schema",
        "inputSchema",
        "parametersJsonSchema",
        "parameters_json_schema",
    ] {
        let wrapped = json!({"type": "function", "function": bare(key)});
        let mut second = bare(key);
        second["name"] = "g".into();
        second["id"] = "x".into();
        for list in [
            json!([bare(key), second.clone()]),
            json!([wrapped.clone()]),
            json!({"tools": [wrapped]}),
            json!([{"functionDeclarations": [bare(key), second]}]),
            json!({"tools": [{"function_declarations": [bare(key)]}]}),
        ] {
            for text in [list.to_string(), format!("\u{feff}{list}")] {
                let listing = read::listing("x", &text).expect("tools");
                assert!(
                    listing.odd.is_empty() && listing.unread.is_empty(),
                    "{listing:?}"
                );
                let inventory = crate::Inventory::of(listing.tools).expect("an inventory");
                let checked =
                    inventory.checked("f", r#"{"z": 5}"#, &crate::CheckOptions::default());
                assert!(
                    checked.valid() && checked.text() == r#"{"z":"5"}"#,
                    "{text}"
                );
            }
        }
    }
}

/// What is wrong with one entry leaves the others.
#[test]
fn an_odd_list_of_declarations_is_skipped() {
    let text = r#"[{"functionDeclarations": 5}, {"name": "f"}]"#;
    let listing = read::listing("x", text).expect("tools");
    assert_eq!((listing.tools.len(), listing.odd.len()), (1, 1));
    assert_eq!(listing.odd[0].path, "[0].functionDeclarations");
}

/// Without a schema any arguments are valid, so a schema that nobody read must not pass unnoticed.
#[test]
fn members_that_nobody_read_are_named() {
    for (tool, names) in [
        (json!({"name": "f", "schema": {}}), "`schema`"),
        (
            json!({"name": "f", "b": 1, "a": 1, "strict": true}),
            "`a`, `b`",
        ),
        (
            json!({"type": "function", "parameters": {}, "function": {"name": "f"}}),
            "`parameters`",
        ),
        (
            json!({"type": "function", "function": {"name": "f", "args": {}}}),
            "`args`",
        ),
        (json!({"id": "f", "args": {}}), "`args`"),
        (
            json!({"name": "f", "parameters": null, "description": "d", "annotations": {}}),
            "",
        ),
        (json!({"name": "f", "parameters": {}, "more": 1}), ""),
    ] {
        let listing = read::listing("x", &json!({"tools": [tool]}).to_string()).expect("tools");
        let told: Vec<String> = listing.unread.iter().map(ToString::to_string).collect();
        let want = match names {
            "" => vec![],
            names => vec![format!(
                "x: tools[0]: f has no schema, so any arguments are valid; not read: {names}"
            )],
        };
        assert_eq!(told, want);
        assert_eq!(listing.tools.len(), 1);
    }
}

#[test]
fn members_beside_the_function_of_a_definition_are_kept() {
    let text = r#"[{"type": "function", "strict": true, "cache_control": {"type": "ephemeral"},
        "function": {"name": "f", "parameters": {"type": "object"}, "strict": false}}]"#;
    let tools = read::any("x", text).expect("tools");
    let extra = Value::Object(tools[0].extra.clone());
    let want = json!({"strict": false, "cache_control": {"type": "ephemeral"}});
    assert_eq!(extra, want);
}

#[test]
fn a_page_of_mcp_that_is_not_the_last_is_told() {
    let page = |next: &str| {
        let tool = r#"{"name": "f", "inputSchema": {"type": "object"}}"#;
        let text = format!(r#"{{"tools": [{tool}], "nextCursor": {next}}}"#);
        let listing = read::listing("x", &text).expect("tools");
        assert_eq!(listing.tools.len(), 1);
        listing.unread.len()
    };
    assert_eq!((page("\"abc\""), page("null")), (1, 0));
}

#[test]
fn unreadable_definitions_are_reported_with_their_place() {
    let wrong = |text: &str| read::any("x", text).expect_err("refused").to_string();
    for (text, message) in [
        ("[1]", "x: [0]: it must be an object"),
        (
            "{}",
            "x: it is no list of tools: an array, or an object with `tools`, is needed",
        ),
        (
            "[{",
            "x: no JSON: EOF while parsing an object at line 1 column 2",
        ),
        (
            r#"[{"name": "f", "name": "g"}]"#,
            "x: no JSON: the key name occurs twice at line 1 column 21",
        ),
        (r#"[{"description": "d"}]"#, "x: [0]: it has no `name`"),
        (r#"[{"name": ""}]"#, "x: [0].name: it must not be empty"),
        (
            r#"[{"name": "a", "parameters": 1}]"#,
            "x: [0].parameters: it must be an object",
        ),
        (
            r#"[{"name": "a"}, {"name": "a"}]"#,
            "x: [1]: a is the id of [0] too",
        ),
        (
            r#"[{"function": {"name": "a", "parameters": {"properties": {"p": {"$ref": "http://x/y"}}}}}]"#,
            "x: [0].function.parameters.properties.p.$ref: http://x/y is not fetched: a reference must begin with #",
        ),
        (
            "tools:\n  - id: a\n    kind: thing\n",
            "x: tools[0].kind: it is `tool` or `skill`",
        ),
        (
            "tools:\n  - id: a\n    agentCallable: 'yes'\n",
            "x: tools[0].agentCallable: it is true or false",
        ),
        (
            "a: &x 1\nb: *x\n",
            "x: no YAML: anchors, aliases and tags are not read at line 1 column 4",
        ),
        (
            "a: 1\na: 2\n",
            "x: the key a occurs twice at line 2 column 1",
        ),
    ] {
        assert_eq!(wrong(text), message);
    }
}

#[test]
fn yaml_values_are_those_of_the_core_schema() {
    let text = "a: [1, -2, +3, 0x1F, 0o17, 1.50, .5, 1e3, 12345678901234567890123, ~, yes, 'true', True, 1.2.3, --, '']";
    let yaml = toolglot::layer::yaml(text, &toolglot::Limits::default(), |_| None);
    let value = yaml.expect("a document").value.expect("a value");
    let want = r#"{"a":[1,-2,3,31,15,1.50,0.5,1e3,12345678901234567890123,null,"yes","true",true,"1.2.3","--",""]}"#;
    assert_eq!(value.to_string(), want);
}

#[test]
fn names_are_spelled_by_rule_and_stay_apart() {
    let ids = [
        "a:b",
        "a.b",
        "a_b",
        "1x",
        "名",
        "<>",
        "workflows/skills/x.json",
    ];
    let spelled = |rule: NameRule| rule.unique(ids.iter().copied());
    assert_eq!(spelled(NameRule::Id), ids);
    assert_eq!(
        spelled(NameRule::Flat),
        [
            "a_b",
            "a_b_2",
            "a_b_3",
            "1x",
            "名",
            "<>",
            "workflows_skills_x_json"
        ]
    );
    assert_eq!(
        spelled(NameRule::Xml),
        [
            "a_b",
            "a.b",
            "a_b_2",
            "_1x",
            "名",
            "__",
            "workflows_skills_x.json"
        ]
    );
    assert_eq!(
        spelled(NameRule::Api),
        [
            "a_b",
            "a_b_2",
            "a_b_3",
            "1x",
            "_",
            "__",
            "workflows_skills_x_json"
        ]
    );
    let long = "x".repeat(80);
    let two = NameRule::Api.unique([long.as_str(), &long].into_iter());
    assert_eq!((two[0].len(), two[1].len()), (64, 64));
    assert_ne!(two[0], two[1]);
}

/// Items 9, 60 and 78 of the checklist: look-up by id, alias, mapped command and flat name `toolId_methodName`; names that
/// are safe in XML (`names_are_spelled_by_rule_and_stay_apart`).
#[test]
fn a_tool_is_found_by_any_of_its_names() {
    let mut tool = Tool::new("fs:read");
    tool.aliases.push("cat".to_owned());
    tool.commands
        .push(("vcp".to_owned(), "FileRead".to_owned()));
    let inventory =
        Inventory::of([tool, Tool::new("cat2"), Tool::new("fs_read_2")]).expect("an inventory");
    for name in ["fs:read", "cat", "FileRead", "fs_read"] {
        assert_eq!(
            inventory.get(name).map(|tool| tool.id.as_str()),
            Some("fs:read"),
            "{name}"
        );
    }
    let Lookup::Unknown(near) = inventory.lookup("FS-Read") else {
        panic!("there is none")
    };
    assert_eq!(near, ["fs:read", "fs_read_2"]);
    assert_eq!(
        inventory.names("vcp", NameRule::Id),
        ["FileRead", "cat2", "fs_read_2"]
    );
}

/// Items 13, 69, 73 and 91 of the checklist: grants, permission, toggles, and nothing where nothing is configured.
#[test]
fn an_agent_is_offered_what_it_may_call() {
    let tool = |id: &str| Tool::new(id).description("d").callable(true);
    let all = [
        tool("fs.read"),
        tool("fs.write"),
        tool("net.get"),
        tool("x").callable(false),
        Tool::new("bare").callable(true),
    ];
    let all = Inventory::of(all).expect("an inventory");
    let offered = |config: &str| {
        let config: CallConfig = serde_json::from_str(config).expect("a configuration");
        let offered = all.discover(&config);
        offered
            .tools()
            .iter()
            .map(|tool| tool.id.clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(offered("{}"), "");
    assert_eq!(offered(r#"{"enabled": true}"#), "fs.read fs.write net.get");
    assert_eq!(
        offered(r#"{"enabled": true, "toolToggles": {"fs.read": false}}"#),
        "fs.write net.get"
    );
    assert_eq!(
        offered(r#"{"enabled": true, "toolToggles": {"fs": false, "fs.read": true}}"#),
        "fs.read net.get"
    );
    assert_eq!(
        offered(r#"{"enabled": true, "defaultToolEnabled": false, "toolToggles": {"net": true}}"#),
        "net.get"
    );
    assert_eq!(
        offered(r#"{"enabled": true, "toolIdsInventory": ["fs.write", "x"]}"#),
        "fs.write"
    );
    assert!(serde_json::from_str::<CallConfig>(r#"{"enable": true}"#).is_err());
}

/// Items 14 and 29 of the checklist: callers that are no agents ask for all tools, with the definitions of their parameters;
/// a request lists those declared, with name, description and schema.
#[test]
fn everything_can_be_listed_with_its_parameters() {
    let registry = Registry::new();
    let tools = read::any("plugin.yaml", MANIFEST).expect("tools");
    registry.register(tools).expect("new ids");
    let all = registry.inventory();
    let listed = read::to_manifest(all.tools().iter().map(AsRef::as_ref));
    let list = listed["tools"].as_array().expect("a list");
    let ids: Vec<_> = list.iter().map(|tool| &tool["id"]).collect();
    assert_eq!(
        ids,
        [
            "my-awesome-plugin:magic_node_tool",
            "my-awesome-plugin:complex_workflow_tool"
        ]
    );
    assert_eq!(
        listed["tools"][0]["parameters"]["properties"]["strength"],
        json!({"type": "number", "description": "魔法强度", "default": 0.7})
    );
    let offered = all.discover(&CallConfig::enabled());
    let names = offered.names("none", NameRule::Api);
    let request = offered.tools().iter().zip(&names);
    let request: Vec<_> = request
        .map(|(tool, name)| read::to_openai(tool, name))
        .collect();
    assert_eq!(
        request,
        [json!({"type": "function", "function": {
            "name": "my-awesome-plugin_complex_workflow_tool",
            "description": "一个封装了复杂工作流的工具。",
            "parameters": {"type": "object", "properties": {}},
        }})]
    );
}

/// Items 68 and 110 of the checklist: the defaults of the configuration, 30 seconds for a call among them.
#[test]
fn a_configuration_has_the_defaults_of_its_design() {
    let want = json!({
        "enabled": false, "mode": "auto", "toolToggles": {}, "defaultToolEnabled": true, "maxIterations": 5,
        "timeout": 30000, "requireConfirmation": false, "parallelExecution": false, "protocol": "vcp",
    });
    assert_eq!(
        toolglot::json::to_value(&CallConfig::default()).expect("JSON"),
        want
    );
}

#[test]
fn a_registry_is_changed_and_shared() {
    let registry = std::sync::Arc::new(Registry::new());
    let before = registry.inventory();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let registry = &registry;
            scope.spawn(move || {
                for n in 0..25 {
                    registry
                        .register([Tool::new(&format!("t{thread}.{n}"))])
                        .expect("a new id");
                    assert!(
                        registry
                            .inventory()
                            .get(&format!("t{thread}.{n}"))
                            .is_some()
                    );
                }
            });
        }
    });
    assert_eq!(
        (
            before.tools().len(),
            registry.version(),
            registry.inventory().tools().len()
        ),
        (0, 100, 100)
    );
    let error = registry
        .register([Tool::new("new"), Tool::new("t1.1")])
        .expect_err("a duplicate");
    assert_eq!(error.to_string(), "there is a tool t1.1 already");
    assert_eq!(
        (
            registry.version(),
            registry.inventory().get("new").is_none()
        ),
        (100, true)
    );
    assert!(registry.unregister("t1.1").is_some() && registry.unregister("t1.1").is_none());
    assert_eq!(registry.version(), 101);
}

/// Ten thousand tools with the same spelling get distinct names in linear time.
#[test]
fn many_tools_are_indexed() {
    let tools = (0..10_000).map(|n| {
        Tool::new(&format!(
            "a{}",
            if n % 2 == 0 {
                format!(":{n}")
            } else {
                format!(".{}", n - 1)
            }
        ))
    });
    let inventory = Inventory::of(tools).expect("an inventory");
    let names = inventory.names("none", NameRule::Api);
    let different: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(different.len(), 10_000);
}

/// The words of enums are read back.
#[test]
fn words_are_read_back() {
    fn all<W>(words: &[W])
    where
        W: Copy + PartialEq + std::fmt::Debug + std::fmt::Display,
        W: std::str::FromStr<Err = toolglot::UnknownWord>,
    {
        for word in words {
            assert_eq!(word.to_string().parse(), Ok(*word));
        }
    }
    all(crate::ChangeKind::ALL);
    all(crate::outcome::Status::ALL);
    all(crate::prompt::Lang::ALL);
    all(crate::prompt::Part::ALL);
}
