//! When sets are shared: as long as they are among the last ones, and if their keys are equal.

use super::*;

#[test]
fn the_sets_compiled_last_are_shared() {
    let builtin = |id: &str| DialectSet::builder().builtin("reasoning-think").builtin(id);
    let mut kept = Compiled(vec![]);
    let ids = builtin::FILES.iter().map(|(id, _)| *id);
    let ids: Vec<&str> = ids.take(Compiled::MOST + 1).collect();
    let sets: Vec<(Key, DialectSet)> = ids
        .iter()
        .map(|id| {
            let key = builtin(id).key().expect("built in");
            (key, builtin(id).build().expect("built in"))
        })
        .collect();
    for (key, set) in sets.iter().chain(&sets[1..3]) {
        kept.keep(key.clone(), set);
    }
    assert!(kept.find(&sets[0].0).is_none());
    assert_eq!(kept.0.len(), Compiled::MOST);
    for (key, set) in &sets[1..] {
        let found = kept.find(key).expect("kept");
        assert!(Arc::ptr_eq(&found.inner, &set.inner));
    }
}

#[test]
fn what_determines_the_tables_is_in_the_key() {
    let key = |builder: SetBuilder| builder.key();
    let thought = || DialectSet::builder().builtin("reasoning-think");
    let vcp = || thought().builtin("vcp");
    assert!(key(vcp()).is_some());
    assert!(key(thought()).is_none(), "one alone is not kept");
    assert!(key(DialectSet::builder().any()).is_some());
    assert_eq!(key(vcp()), key(vcp().builtin("vcp")));
    assert_ne!(key(vcp()), key(vcp().builtin("hermes")));
    assert_ne!(
        key(vcp().builtin("hermes")),
        key(thought().builtin("hermes").builtin("vcp"))
    );
    assert_ne!(key(vcp()), key(vcp().defaults()));
    assert_ne!(key(vcp()), key(vcp().any()));
    // A file of the host's may have the id of a built-in dialect.
    let (id, text) = builtin::FILES[0];
    assert_eq!(key(vcp().toml(id, text)), None);
    assert_eq!(key(vcp().switch("vcp", "fuzzy")), None);
}
