use serde_json::json;

use crate::{file, run};

const MCP: &str = r#"{"tools": [{"name": "read", "description": "Reads", "inputSchema": {"type": "object", "properties": {"z": {}, "a": {}}}}]}"#;
const PLUGIN: &str = "tools:\n  - id: p:t\n    agentCallable: true\n    parameters: {type: object, properties: {n: {type: number, defaultValue: 0.70}}}\n";

/// Items 6 and 7 of the checklist: a manifest is read with all that it says.
#[test]
fn definitions_become_one_manifest() {
    let (mcp, plugin) = (file("mcp.json", MCP), file("plugin.yaml", PLUGIN));
    let ran = run(&["tools", "import", &mcp, &plugin], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let manifest: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(
        manifest["tools"][1],
        json!({"id": "p:t", "parameters": {"type": "object", "properties": {"n": {"type": "number",
            "default": serde_json::from_str::<serde_json::Value>("0.70").expect("JSON")}}}, "agentCallable": true})
    );
    assert_eq!(manifest["tools"][0]["agentCallable"], false);
    assert!(ran.out.find("\"z\"") < ran.out.find("\"a\""));
    let again = run(&["tools", "import", "-"], ran.out.as_bytes());
    assert_eq!(again.out, ran.out);
    let named = run(
        &["tools", "import", "--server", "files", "-"],
        MCP.as_bytes(),
    );
    assert!(named.out.contains("\"id\": \"files:read\""));
}

#[test]
fn what_cannot_be_used_is_told() {
    let (mcp, again) = (file("a.json", MCP), file("b.json", MCP));
    run(&["tools", "import", &mcp, &again], b"").refused(&["there is a tool read already"]);
    run(&["tools", "import", "-"], b"{}").refused(&["it is no list of tools"]);
    run(&["tools", "import", "nowhere"], b"").refused(&["nowhere"]);
    let odd = r#"[{"name": "f", "parameters": {"properties": {"p": {"pattern": "("}}}}]"#;
    let ran = run(&["tools", "import", "-"], odd.as_bytes());
    assert_eq!(ran.code, 1);
    assert!(
        ran.err
            .starts_with("toolglot: f: parameters: /properties/p/pattern: "),
        "{}",
        ran.err
    );
}
