//! Bytes after a parameter that belong to nothing: a comma after its closer, a stray word or bracket; and words before the first
//! one.
//!
//! If a marker that fits follows soon, the parameter ended at its closer, and these bytes are reported. A value may also
//! quote its closer in a sentence: then the words around it are content.

use super::parameter::{foreign, param_known};
use super::shorter::last_complete;
use super::{Body, FramedAt};
use crate::body::{Flow, Out};
use crate::dialect::{Action, Framed};
use crate::event::Span;
use crate::kind::Kind;
use toolglot_scan::path::{Go, Hole, Paths, Walk};
use toolglot_scan::xml;

/// The most bytes between the end of a parameter and the marker that goes on.
pub(super) const MAX_STRAY: u64 = 64;

/// The most bytes of words before the first parameter.
const MAX_WORDS: u64 = 256;

/// The pattern that a walk completed, and where it ends.
pub(super) type Whole = (Action, Walk, u64);

impl Body {
    /// Looks for a marker after stray bytes: the byte at `pos` showed that no pattern begins where `walk` began. The stray
    /// bytes follow `from`. Returns the pattern if that byte completes one, and nothing if no marker may follow here.
    pub(super) fn skip_stray(
        stray: &mut Option<u64>,
        out: &Out<'_>,
        paths: &Paths<Action>,
        walk: &mut Walk,
        (from, pos, most): (u64, u64, u64),
        fix: &[u8],
    ) -> Option<Option<Whole>> {
        let mut next = walk.start().unwrap_or(pos);
        stray.get_or_insert(next);
        loop {
            next += 1;
            if next > from + most {
                return None;
            }
            *walk = paths.begin();
            let mut at = next;
            let went = loop {
                if at > pos {
                    return Some(None);
                }
                match paths.step(walk, out.byte(at)?, at, fix) {
                    Go::More => at += 1,
                    Go::Found { action, taken } => {
                        break Some((action, *walk, at + u64::from(taken)));
                    }
                    Go::None => break last_complete(out, paths, walk, at, fix),
                }
            };
            match went {
                Some((Action::Whole, found, end)) if found.start() == Some(end) => next = end,
                Some(found) => return Some(Some(found)),
                None => next = walk.start().unwrap_or(at),
            }
        }
    }

    /// Between parameters, consumes a byte that fits no pattern, if a marker may follow all the same.
    pub(super) fn strays(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        pos: u64,
    ) -> Option<(bool, Option<Flow>)> {
        let paths = &table.units[usize::from(self.unit)].inner;
        let FramedAt::Inner(walk) = &mut self.at else {
            return None;
        };
        let first = self.args.as_ref()?.count() == 0;
        let began = walk.start().unwrap_or(pos);
        // Before the first parameter, what looks like markup or an object is no word.
        if first && out.byte(began).is_none_or(|byte| b"<[]{\"".contains(&byte)) {
            return None;
        }
        let from = self.stray.unwrap_or(began);
        let most = if first { MAX_WORDS } else { MAX_STRAY };
        let fix = std::mem::take(&mut self.fix);
        let found = Self::skip_stray(&mut self.stray, out, paths, walk, (from, pos, most), &fix);
        self.fix = fix;
        let Some(found) = found? else {
            return Some((true, None));
        };
        if self.only_words(found.0) {
            return None;
        }
        let (action, walk, end) = found;
        let flow = self.after_stray(out, table, &found);
        let flow = flow.or_else(|| self.found(out, table, action, &walk, end));
        let flow = flow.or_else(|| self.walk_again(out, table, end, pos));
        Some((end > pos, flow))
    }

    /// Whether a call contains only words before this marker, and no parameter: they are no arguments.
    pub(super) fn only_words(&self, action: Action) -> bool {
        self.stray.is_some() && self.lacks_params() && action != Action::Param
    }

    /// Whether no parameter of the open call has come so far.
    pub(super) fn lacks_params(&self) -> bool {
        self.args.as_ref().is_none_or(|args| args.count() == 0)
    }

    /// Between parameters, acts on the stray bytes before a marker, if there are any.
    pub(super) fn after_stray(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        found: &Whole,
    ) -> Option<Flow> {
        let stray = self.stray?;
        if found.0 == Action::Param && !self.fits_key(out, table, &found.1) {
            return self.broken(out, found.2 - 1);
        }
        self.report_stray(out, stray, found);
        None
    }

    /// Whether a marker after stray bytes shows that the value before them ended at its closer, which ends at `closed`.
    pub(super) fn ends_value(
        &self,
        out: &Out<'_>,
        table: &Framed,
        closed: u64,
        found: &Whole,
    ) -> bool {
        let (action, walk, end) = found;
        let between = out.bytes(closed, walk.start().unwrap_or(*end));
        match action {
            Action::Param => self.fits_key(out, table, walk),
            Action::Close | Action::WrongClose | Action::End | Action::WrongEnd => {
                let words = between
                    .iter()
                    .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
                !words
                    || between.contains(&b'\n')
                    || !between.iter().any(|byte| xml::is_space(*byte))
            }
            Action::Unit(_) | Action::Reopen | Action::Header => begins_line(&between),
            Action::Section
            | Action::Separator
            | Action::Repeat
            | Action::Whole
            | Action::Stray
            | Action::Half
            | Action::Further
            | Action::Turn => false,
        }
    }

    /// Whether a parameter may follow stray bytes: where any tag may be one, only if the tool has it.
    pub(super) fn fits_key(&self, out: &Out<'_>, table: &Framed, walk: &Walk) -> bool {
        let args = self.args.as_ref();
        let key = walk.span(Hole::Key);
        let params = table.params(self.unit);
        let any_tag = |open: &String| open.replace("$x", "").starts_with("<$key");
        !params.is_some_and(|params| params.open.iter().any(any_tag))
            || !foreign(out, args, key) && param_known(out, args, &out.slice(key.start, key.end))
    }

    /// Reports the stray bytes after `closed`, which a marker follows.
    pub(super) fn report_stray(&mut self, out: &mut Out<'_>, closed: u64, found: &Whole) {
        let (Some(stray), Some(args)) = (self.stray.take(), &mut self.args) else {
            return;
        };
        let (action, walk, end) = found;
        let between = out.bytes(closed.max(out.from()), walk.start().unwrap_or(*end));
        let separates = between
            .iter()
            .all(|byte| matches!(byte, b',' | b';') || xml::is_space(*byte));
        // A sentence may list the closers of a call.
        let clear = *action == Action::Param || begins_line(&between) || !between.contains(&b' ');
        let kind = match separates && clear {
            true => Kind::RepairedComma,
            false => Kind::MalformedBody,
        };
        args.report(out, kind, Span::new(stray, stray + 1), "");
    }
}

/// Whether what follows these bytes is at the start of its line.
fn begins_line(between: &[u8]) -> bool {
    let blanks = between
        .iter()
        .rev()
        .take_while(|byte| xml::is_space(**byte));
    blanks.into_iter().any(|byte| *byte == b'\n')
}
