//! Messages with their headers.

use crate::naive::generate::Gen;

use crate::naive::framed::spec::{Channels, Route, Spec};

use super::{block, call, prose};

/// A message with its header; the body usually matches the header.
pub(super) fn message(g: &mut Gen, spec: &Spec, channels: &Channels) {
    // Most messages are calls, if the dialect has calls.
    let calls = |route: &&Route| route.kind.starts_with("call");
    let of_calls: Vec<&Route> = channels.routes.iter().filter(calls).collect();
    let route = match of_calls.len() {
        0 => &channels.routes[g.below(channels.routes.len())],
        _ if g.chance(40) => &channels.routes[g.below(channels.routes.len())],
        some => of_calls[g.below(some)],
    };
    header(g, channels, route);
    match route.kind.as_str() {
        "call" if g.chance(95) => {
            let unit = &spec.units[g.below(spec.units.len())];
            call(g, spec, unit, "");
        }
        "calls" if g.chance(95) => {
            block(g, spec);
            if spec.section.is_some() && g.chance(80) {
                let close = g.below(channels.close.len());
                g.push(channels.close[close].clone());
            }
        }
        _ => {
            for _ in 0..g.below(3) {
                prose(g, spec);
            }
            if g.chance(85) {
                let close = g.below(channels.close.len());
                g.push(channels.close[close].clone());
            }
        }
    }
    if g.chance(20) {
        prose(g, spec);
    }
}

fn header(g: &mut Gen, channels: &Channels, route: &Route) {
    let first = g.pieces.is_empty() && !channels.first.is_empty() && g.chance(50);
    let mut start = channels.start[g.below(channels.start.len())].clone();
    if first {
        start.clone_from(&channels.first);
    }
    g.push(start.clone());
    if channels.end.contains(&start) {
        return;
    }
    let of = |g: &mut Gen, wanted: &Option<Vec<String>>| {
        let any = g.pick(&["", "", "final", "json", "a/b"]).to_owned();
        let Some(wanted) = wanted.as_ref().filter(|_| g.chance(95)) else {
            return any;
        };
        let word = &wanted[g.below(wanted.len())];
        match word.as_str() {
            "*" => g
                .pick(&[
                    "go",
                    "read_file",
                    "functions.go",
                    "查",
                    "analysis",
                    "go",
                    "a<b",
                ])
                .to_owned(),
            word => word.to_owned(),
        }
    };
    let recipient = of(g, &route.recipient);
    let channel = of(g, &route.channel);
    let content = of(g, &route.content);
    let mut parts: Vec<(&str, String)> = vec![];
    for (before, word) in [
        (&channels.recipient, recipient),
        (&channels.channel, channel),
    ] {
        if !word.is_empty() && !before.is_empty() {
            parts.push((before, format!("{before}{word}")));
        }
    }
    if g.chance(30) && !first {
        parts.reverse();
    }
    if !content.is_empty() && !channels.content.is_empty() {
        let before = if g.chance(30) { " " } else { &channels.content };
        parts.push((before, format!("{before}{content}")));
    }
    // Parts that the beginning of the header already gives may be omitted.
    if let Some(at) = parts
        .iter()
        .position(|(before, _)| *before == start.as_str())
    {
        let (_, text) = parts.remove(at);
        g.push(text[start.len()..].to_owned());
    } else if start != channels.first {
        let role = g.pick(&["assistant", "assistant", "", "go"]);
        g.push(role);
    }
    for (_, text) in parts {
        let gap = g.pick(&["", "", " "]);
        g.push(gap);
        g.push(text);
    }
    if g.chance(3) {
        // Close to the maximum length of a header.
        let len = 440 + g.below(90);
        g.push("x".repeat(len));
    }
    let end = match &route.end {
        Some(ends) => ends[0].clone(),
        None => channels.end[g.below(channels.end.len())].clone(),
    };
    g.push(end);
}
