//! Calls without a payload, and messages that hold another one than the dialect's calls: the closer comes in place of the
//! arguments, or a tool's message is text that is one argument.

use super::{Body, FramedAt};
use crate::body::{Flow, Out};
use crate::dialect::{Framed, spec};
use crate::kind::Kind;
use toolglot_scan::path::{Go, Walk};
use toolglot_scan::xml;

impl Body {
    /// At a call whose arguments are awaited: reads its closer in their place, if the first byte of the chunk from index `i`
    /// on that is not white space begins one. Returns the index of that byte. The call counts once the closer is complete.
    pub(super) fn empty_payload(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        i: usize,
        end: usize,
    ) -> Option<usize> {
        let rest = &out.seg[i..end];
        let at = i + rest.iter().position(|byte| !xml::is_space(*byte))?;
        let pos = out.base + at as u64;
        if !self.may_close(table, usize::from(self.unit), out.seg[at], pos) {
            return None;
        }
        let FramedAt::Payload(payload) = &mut self.at else {
            return None;
        };
        let live = payload.take_awaiting()?;
        self.whole = Some(Box::new((live, pos)));
        self.run_on = None;
        self.last = pos;
        out.skip(pos);
        self.at = FramedAt::Tail(table.units[usize::from(self.unit)].tail.begin());
        Some(at)
    }

    /// Whether a byte at `pos` begins the closer of a call of the form `unit` and no arguments.
    fn may_close(&self, table: &Framed, unit: usize, byte: u8, pos: u64) -> bool {
        let tail = &table.units[unit].tail;
        let closers = &table.spec.unit[unit].close;
        // Other backticks open a fence around the arguments.
        let fence = byte == b'`' && !closers.iter().any(|close| close.starts_with('`'));
        let payload = matches!(byte, b'{' | b'"' | b'\'' | b'n' | b'N');
        !(closers.is_empty() || fence || payload)
            && tail.step(&mut tail.begin(), byte, pos, &self.fix) != Go::None
    }

    /// Whether a call without arguments awaits its closer.
    pub(super) fn awaits_closer(&self) -> bool {
        self.whole.as_ref().is_some_and(|whole| !whole.0.begun())
    }

    /// Gives the call that awaits its closer empty arguments: the closer begins at `start`.
    pub(super) fn close_empty(&mut self, out: &mut Out<'_>, start: u64) {
        if let Some((live, _)) = self.whole.as_deref_mut()
            && !live.begun()
        {
            live.repaired(out, Kind::RepairedArguments, start);
            live.empty(out, start);
        }
    }

    /// At the first byte of a message to a tool, at `pos`: begins the call if the message holds text that is one argument, or
    /// nothing.
    pub(super) fn begin_message(
        &mut self,
        out: &mut Out<'_>,
        table: &Framed,
        byte: u8,
        pos: u64,
    ) -> Option<Option<Flow>> {
        let recipient = &self.header.as_ref()?.0;
        if xml::is_space(byte) {
            return None;
        }
        let units = &table.spec.unit;
        // The host may have declared the recipient as a function.
        let text = table.text_unit(recipient).filter(|_| byte != b'{');
        let unit = text.or_else(|| {
            let arguments = |unit: &spec::Unit| unit.payload == spec::Payload::Arguments;
            let unit = units.iter().position(arguments)?;
            // A code fence may be around the arguments.
            (byte == b'`' || self.may_close(table, unit, byte, pos)).then_some(unit)
        })?;
        self.unit = unit as u16;
        Some(self.begin(out, table, &Walk::default(), pos))
    }
}
