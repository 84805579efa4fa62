//! Artificial dialects, for combinations of payloads that the built-in ones do not cover.

/// Id and file.
pub const MADE: [(&str, &str); 7] = [
    (
        "made-tree",
        r#"
id = "made-tree"
title = "made-tree"
deltas = "live"
[[framed.unit]]
open = ["<call $name>"]
close = ["</call>"]
payload = "tree"
[framed.tree]
open = ["<$key>"]
close = ["</$key>"]
"#,
    ),
    (
        "made-late-tree",
        r#"
id = "made-late-tree"
title = "made-late-tree"
deltas = "at-value-end"
[[framed.unit]]
open = ["[[call $name]]"]
close = ["[[/call]]"]
payload = "tree"
[framed.tree]
open = ["[[<$key>"]
close = ["[[</$key>"]
frame = "newline"
confirm = 0
"#,
    ),
    (
        "made-prefixed-tree",
        r#"
id = "made-prefixed-tree"
title = "made-prefixed-tree"
deltas = "live"
[[framed.unit]]
open = ["<call$tag>"]
close = ["</call>"]
payload = "tree"
[framed.tree]
open = ["<p:$key>"]
close = ["</p:$key>"]
entities = true
newline = ["a"]
"#,
    ),
    (
        "made-content",
        r#"
id = "made-content"
title = "made-content"
deltas = "at-value-end"
[[framed.unit]]
open = ["<run $name>"]
close = ["</run>", "<end/>"]
payload = "content"
[framed.unit.content]
argument = "content"
[[framed.unit.content.rule]]
tools = ["file"]
unfence = true
"#,
    ),
    (
        "made-shared",
        r#"
id = "made-shared"
title = "made-shared"
deltas = "live"
[framed.section]
open = ["<all$tag>"]
close = ["</all>"]
argument = "artifact"
[[framed.unit]]
open = ["<call$tag>"]
close = ["</call>"]
payload = "params"
[framed.param]
open = ["<param$tag>"]
close = ["</param>"]
"#,
    ),
    (
        "made-tagged",
        r#"
id = "made-tagged"
title = "made-tagged"
deltas = "live"
[framed.section]
open = ["[tools]"]
close = ["[/tools]"]
[[framed.unit]]
open = ["<$name>"]
close = ["</$x>"]
payload = "params"
fix_name = true
[framed.param]
open = ["<$key>"]
close = ["</$key>"]
cdata = true
"#,
    ),
    (
        "made-yaml",
        r#"
id = "made-yaml"
title = "made-yaml"
deltas = "at-call-end"
[framed.section]
open = ["<<calls>>"]
close = ["<<end>>"]
[[framed.unit]]
open = ["call $name:"]
close = ["abc"]
payload = "yaml"
"#,
    ),
];
