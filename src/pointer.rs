//! JSON pointers (RFC 6901).

/// Adds a step to a pointer.
pub fn step(path: &mut String, key: &str) {
    path.push('/');
    for c in key.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            _ => path.push(c),
        }
    }
}

/// The pointer to a member.
pub fn member(parent: &str, key: &str) -> String {
    let mut path = parent.to_owned();
    step(&mut path, key);
    path
}

/// Returns the key that a step of a pointer names.
pub fn key(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Returns the element of a list that a step of a pointer names: a number without leading zeros.
pub fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| plain)
}
