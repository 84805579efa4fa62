//! Converts event structs back to events of the engine, for the sinks: the reverse of `batch`. Input from the host is checked:
//! unknown kinds are skipped, invalid UTF-8 is rejected.

use crate::event::*;
use crate::raw;
use crate::status::{Done, Fault};
use crate::tg::{
    Abandoned, Arguments, CallState, Event, Kind, KindSet, Origin, Report, Severity, Sink, Span,
};

/// A sink that also takes issues.
pub(crate) trait Take: Sink {
    /// Takes an issue.
    fn report(&mut self, report: Report);
}

/// Passes the events of a batch to a sink.
///
/// # Safety
/// The batch and what its events point at can be read.
pub(crate) unsafe fn replay(batch: &toolglot_batch, sink: &mut impl Take) -> Done {
    // SAFETY: guaranteed by the caller.
    let events = unsafe { raw::array(batch.events, batch.len) }?;
    let mut at = 0;
    while let Some(event) = events.get(at) {
        at += 1;
        let details = events[at..]
            .iter()
            .take_while(|e| e.kind == TOOLGLOT_EVENT_DETAIL);
        let details: &[toolglot_event] = &events[at..at + details.count()];
        at += details.len();
        // SAFETY: guaranteed by the caller.
        unsafe { one(event, details, sink) }?;
    }
    Ok(())
}

/// # Safety
/// What the event points at can be read.
unsafe fn text(view: crate::raw::toolglot_view) -> Done<&'static str> {
    // SAFETY: guaranteed by the caller, who keeps none of it longer than the batch.
    let bytes = unsafe { raw::view(view) }?;
    std::str::from_utf8(bytes).map_err(|_| Fault::arg("an event holds text that is not UTF-8"))
}

/// # Safety
/// As [`replay`].
unsafe fn one(event: &toolglot_event, details: &[toolglot_event], sink: &mut impl Take) -> Done {
    let span = Span::new(event.start, event.end);
    let has = |flag: u32| event.flags & flag != 0;
    let call = event.call;
    // SAFETY: guaranteed by the caller.
    let data = unsafe { raw::view(event.data) }?;
    let out = match event.kind {
        TOOLGLOT_EVENT_TEXT => Event::text(data, span, has(TOOLGLOT_FLAG_RECOVERED_TEXT)),
        TOOLGLOT_EVENT_REASONING => Event::reasoning(data, span, has(TOOLGLOT_FLAG_FRAMING)),
        TOOLGLOT_EVENT_PROTECTED => Event::protected(
            // SAFETY: guaranteed by the caller.
            unsafe { text(event.aux) }?,
            data,
            span,
        ),
        TOOLGLOT_EVENT_RAW => Event::raw(data, span),
        TOOLGLOT_EVENT_BLOCK_OPEN => Event::block_open(
            // SAFETY: guaranteed by the caller.
            unsafe { text(event.aux) }?,
            span,
        ),
        TOOLGLOT_EVENT_CALL_NAMED => Event::call_named(
            call,
            event.code, // SAFETY: guaranteed by the caller.
            unsafe { text(event.data) }?,
            has(TOOLGLOT_FLAG_PROVISIONAL),
            span,
        ),
        TOOLGLOT_EVENT_CALL_OPEN => {
            // SAFETY: guaranteed by the caller.
            let meta = unsafe { pairs(details) }?;
            sink.event(Event::call_open(
                call, // SAFETY: guaranteed by the caller.
                unsafe { text(event.data) }?,
                &meta, // SAFETY: guaranteed by the caller.
                unsafe { text(event.aux) }?,
                match has(TOOLGLOT_FLAG_NATIVE) {
                    true => Origin::Native,
                    false => Origin::Text,
                },
                span,
            ));
            return Ok(());
        }
        TOOLGLOT_EVENT_ARG_DELTA => Event::arg_delta(
            call, // SAFETY: guaranteed by the caller.
            unsafe { text(event.data) }?,
            span,
        ),
        TOOLGLOT_EVENT_PARAM_OPEN => Event::param_open(
            // SAFETY: guaranteed by the caller.
            unsafe { text(event.data) }?,
            event.code,
            span,
        ),
        TOOLGLOT_EVENT_PARAM_DELTA => Event::param_delta(data, span),
        TOOLGLOT_EVENT_PARAM_CLOSE => Event::param_close(span),
        TOOLGLOT_EVENT_CALL_ABANDONED => Event::call_abandoned(call, span),
        TOOLGLOT_EVENT_CALL_CLOSE => Event::call_close(
            call,
            if has(TOOLGLOT_FLAG_RECOVERED) {
                CallState::Recovered(kinds(data))
            } else if has(TOOLGLOT_FLAG_REPAIRED) {
                CallState::Repaired(kinds(data))
            } else {
                CallState::Complete
            },
            match has(TOOLGLOT_FLAG_PARAMS_ONLY) {
                true => Arguments::Params,
                false => Arguments::Deltas,
            },
            span,
        ),
        TOOLGLOT_EVENT_BLOCK_CLOSE => Event::block_close(span, data),
        TOOLGLOT_EVENT_BLOCK_ABANDONED => Event::block_abandoned(
            span,
            if has(TOOLGLOT_FLAG_AS_TEXT) {
                Abandoned::Text
            } else if has(TOOLGLOT_FLAG_AS_REASONING) {
                Abandoned::Reasoning
            } else {
                Abandoned::Drop
            },
            data,
        ),
        TOOLGLOT_EVENT_ISSUE => {
            // SAFETY: guaranteed by the caller.
            let report = unsafe { report(event, details) }?;
            report.into_iter().for_each(|report| sink.report(report));
            return Ok(());
        }
        _ => return Ok(()),
    };
    sink.event(out);
    Ok(())
}

fn kinds(codes: &[u8]) -> KindSet {
    let mut set = KindSet::default();
    let all = Kind::ALL
        .iter()
        .filter(|kind| codes.contains(&(kind.code() as u8)));
    all.for_each(|kind| set.insert(*kind));
    set
}

/// # Safety
/// As [`replay`].
unsafe fn pairs(details: &[toolglot_event]) -> Done<Vec<(String, String)>> {
    let pair = |detail: &toolglot_event| {
        // SAFETY: guaranteed by the caller.
        let (key, value) = unsafe { (text(detail.aux)?, text(detail.data)?) };
        Ok((key.to_owned(), value.to_owned()))
    };
    details.iter().map(pair).collect()
}

/// # Safety
/// As [`replay`].
unsafe fn report(event: &toolglot_event, details: &[toolglot_event]) -> Done<Option<Report>> {
    let kind = Kind::ALL
        .iter()
        .find(|kind| u32::from(kind.code()) == event.code);
    let Some(kind) = kind.copied() else {
        return Ok(None);
    };
    // SAFETY: guaranteed by the caller.
    let mut pairs = unsafe { pairs(details) }?.into_iter();
    // SAFETY: guaranteed by the caller.
    let (message, observation) = unsafe { (text(event.data)?, text(event.aux)?) };
    Ok(Some(
        Report::new(
            kind,
            match event.flags & TOOLGLOT_FLAG_ERROR {
                0 => Severity::Warning,
                _ => Severity::Error,
            },
            Span::new(event.start, event.end),
        )
        .message(message.to_owned())
        .observation(observation.to_owned())
        .dialect(
            pairs
                .find(|(key, _)| key == "dialect")
                .map(|(_, id)| id)
                .unwrap_or_default(),
        ),
    ))
}
