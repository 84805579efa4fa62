//! Whose turn the text is in, in dialects whose turn tokens are not headers of messages.
//!
//! A turn token says it, or the name after one (`<|im_start|>user`). Nothing in a turn of another author is a call. The turn
//! ends at the next token of turns. A token whose author depends on what follows is heard first: its name is read from text as
//! that is delivered, so nothing is held back for it.

use serde::{Deserialize, Serialize};
use toolglot_scan::{lossy, quote_after};

use super::machine::{Chunk, Machine};
use crate::dialect::{Author, SetInner, Token, is_name};
use crate::event::Span;

/// The maximum length, in bytes, of what follows a token on its line and names its author.
const MAX_NAME: usize = 64;

/// A token of turns after which the author is not known yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heard {
    token: u16,
    end: u64,
    /// The text after it.
    said: Vec<u8>,
    /// The index of the quotation mark after it that would make it a mention.
    quote: Option<u8>,
    /// It is in the middle of a sentence.
    sentence: bool,
    /// It follows a blank.
    spaced: bool,
}

/// The authors that chat templates name. No other word tells a name from the beginning of a sentence.
const ROLES: [&str; 14] = [
    "user",
    "system",
    "developer",
    "tool",
    "function",
    "ipython",
    "human",
    "observation",
    "environment",
    "tool_response",
    "用户",
    "系统",
    "工具",
    "开发者",
];

/// What is known about the author.
enum Told {
    More,
    /// The token is only mentioned, or no author is named.
    Nothing,
    Model,
    Other,
}

impl Heard {
    /// The token.
    pub fn token(&self) -> u16 {
        self.token
    }

    /// Whether the token begins a turn of another author, unless what follows makes it a mention.
    pub fn others(&self, set: &SetInner) -> bool {
        let token = set.plan.tokens.get(usize::from(self.token));
        token.is_some_and(|token| token.author == Some(Author::Other))
    }

    /// What the text so far says; `whole` if nothing is added to it.
    fn told(&self, token: &Token, whole: bool) -> Told {
        let said = lossy(&self.said);
        let whole = whole || self.said.len() >= MAX_NAME;
        if let Some(close) = self.quote.map(quote_after) {
            match self.said.starts_with(close) {
                true => return Told::Nothing,
                false if !whole && close.starts_with(&self.said) => return Told::More,
                false => {}
            }
        }
        if token.author == Some(Author::Other) {
            let mut said = said.chars();
            return match (said.next(), said.next()) {
                (None, _) if !whole => Told::More,
                (Some(c), _) if self.sentence && goes_on(c) => Told::Nothing,
                (Some(' '), _) if self.spaced => Told::Nothing,
                // A sentence ends with it, and its line, or a call follows.
                (Some('\n' | '\r') | None, _) if self.sentence && self.spaced => Told::Nothing,
                // A sentence begins with it. Some templates write a blank there, but a message begins with a capital letter.
                (Some(' '), None) if !whole => Told::More,
                (Some(' '), Some(c)) if c.is_ascii_lowercase() => Told::Nothing,
                _ => Told::Other,
            };
        }
        if self.sentence {
            return Told::Nothing;
        }
        let line = said.trim_start_matches([' ', '\t']);
        let name = &line[..line.find(|c| !is_name(c)).unwrap_or(line.len())];
        let rest = line[name.len()..].trim_start_matches([' ', '\t']);
        // A name is followed by the end of its line, by a marker, or by a field of the turn's header; a role also by a text.
        let role = line[name.len()..].starts_with([' ', '\t', ':', '：'])
            && ROLES.iter().any(|role| same(role, name));
        let ends = role || rest.starts_with(['\n', '\r']) || rest.starts_with("name=");
        let cut = !role && (rest.is_empty() || "name=".starts_with(rest) || rest == "\u{fffd}");
        match name {
            _ if cut && !whole => Told::More,
            "" => Told::Nothing,
            _ if !(ends || rest.is_empty()) => Told::Nothing,
            _ if token.model.iter().any(|model| same(model, name)) => Told::Model,
            _ => Told::Other,
        }
    }
}

/// Whether two names are equal but for case.
fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Whether a sentence goes on with this character after a marker that it mentions.
fn goes_on(c: char) -> bool {
    c == ' ' || !(c.is_alphanumeric() || c.is_whitespace() || c == '<')
}

impl Machine<'_> {
    /// Acts on a token of turns, `span`, which is not in code.
    pub fn hear(&mut self, id: u16, span: Span) {
        if self
            .st
            .heard
            .as_ref()
            .is_some_and(|heard| heard.end <= span.start)
        {
            self.settle_author();
        }
        let Some(token) = self.set.plan.tokens.get(usize::from(id)) else {
            return;
        };
        let Some(author) = token.author else { return };
        let vouched = self.st.io.vouches(span.start);
        let quote = self.st.tail.bracket().filter(|_| !vouched);
        match author {
            Author::Model => self.author_is(None),
            Author::Nobody
                if self.st.turn.is_some_and(|turn| self.relatives(turn, id)) && quote.is_none() =>
            {
                self.author_is(None);
            }
            Author::Nobody => {}
            Author::Other | Author::Named => {
                self.st.heard = Some(Heard {
                    token: id,
                    end: span.end,
                    said: vec![],
                    quote,
                    sentence: self.is_mentioned(token, span.start),
                    spaced: self.st.tail.ends_blank(),
                });
                self.tell(token, false);
            }
        }
    }

    /// Whether a token at `start` is in the middle of a sentence.
    fn is_mentioned(&mut self, token: &Token, start: u64) -> bool {
        // A shorter token that is a part of this one does not precede it.
        let waiting = self.st.waiting;
        self.st.waiting = waiting.filter(|waiting| waiting.start() != start);
        let mut dialects = token.dialects.iter();
        let mentioned = dialects.all(|dialect| self.is_in_sentence(*dialect, start));
        self.st.waiting = waiting;
        mentioned
    }

    /// Adds text, which begins at `start`, to what follows the last token of turns.
    pub fn say(&mut self, piece: &[u8], start: u64) {
        let Some(heard) = &mut self.st.heard else {
            return;
        };
        let skip = heard.end.saturating_sub(start) as usize;
        let piece = piece.get(skip..).unwrap_or_default();
        for byte in piece {
            let Some(heard) = &mut self.st.heard else {
                return;
            };
            heard.said.push(*byte);
            let Some(token) = self.set.plan.tokens.get(usize::from(heard.token)) else {
                return;
            };
            self.tell(token, false);
        }
    }

    /// Decides who writes what follows, if the text so far tells it.
    fn tell(&mut self, token: &Token, whole: bool) {
        let Some(heard) = &self.st.heard else { return };
        let id = heard.token;
        match heard.told(token, whole) {
            Told::More => {}
            Told::Nothing => self.st.heard = None,
            Told::Model => self.author_is(None),
            Told::Other => self.author_is(Some(id)),
        }
    }

    /// Decides who writes what follows a token of turns: something else than text comes.
    fn settle_author(&mut self) {
        let heard = self.st.heard.as_ref();
        let token = heard.and_then(|heard| self.set.plan.tokens.get(usize::from(heard.token)));
        if let Some(token) = token {
            self.tell(token, true);
        }
        self.st.heard = None;
    }

    /// A turn of the author begins that this token of another's names; of the model without one.
    fn author_is(&mut self, token: Option<u16>) {
        self.st.heard = None;
        self.st.turn = token;
    }

    /// Whether what begins at `at` is in a message or a turn of another author.
    pub fn is_of_others(&mut self, chunk: Chunk<'_>, at: u64) -> bool {
        self.deliver(chunk, at);
        self.settle_author();
        self.st.others.is_some() || self.st.turn.is_some()
    }
}
