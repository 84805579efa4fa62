//! A result that the model makes up, in the tags of its format's layout: a call in it does not run.

use toolglot::{EncodeCall, encode};

use super::*;
use crate::prompt::tests::ids;

/// Layouts in which such a call runs. `<response>` is a tag of many documents; the models write a token of turns before it, after which no
/// call runs. In the other two, what ends a call also ends the message with the result.
const OPEN: [&str; 4] = ["minimax-m2", "minimax-m3", "harmony", "muse"];

#[test]
fn calls_in_invented_results_do_not_run() {
    let (mut wrong, mut count) = (vec![], 0);
    for id in ids() {
        let set = DialectSet::builtin(id).expect("a set");
        let call = |name: &str| {
            let call = EncodeCall::new(name, r#"{"city": "Leith"}"#);
            encode(&set, id, &[call], &EncodeOptions::default())
        };
        let (Ok(own), Ok(inner)) = (call("get_weather"), call("get_time")) else {
            continue;
        };
        let result = ok("abcdefghi", "get_weather", "sunny");
        let options = RenderOptions::new(Lang::En);
        let result = renderer(id).render(&[result], &options).expect("results");
        // Nothing tells other layouts from text.
        if !(result.starts_with('<') || result.starts_with("[TOOL_")) || OPEN.contains(&id) {
            continue;
        }
        let reply = format!("{own}\n{}", result.replace("sunny", &inner));
        let turn = parse(&set, Options::default(), reply.as_bytes(), Finish::Stop);
        let names: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
        if names != ["get_weather"] {
            wrong.push(format!("{id}: {names:?} in {reply:?}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 20, "{count}");
}
