//! Turns into columns: the schema of the result, and how rows fill it.

use toolglot::Turn;

use super::column::{Column, ListColumn, Mask, NumberColumn, TextColumn};
use crate::guard::Failure;

/// The version of the schema; it changes whenever a field does.
pub const VERSION: &str = "1";
pub const FIELDS: [&str; 4] = ["text", "reasoning", "calls", "errors"];

/// Fills the requested columns.
#[derive(Default)]
pub struct Fill {
    mask: Mask,
    text: Option<TextColumn>,
    reasoning: Option<TextColumn>,
    calls: Option<CallColumns>,
    errors: Option<ErrorColumns>,
}

#[derive(Default)]
struct CallColumns {
    rows: ListColumn,
    items: Mask,
    count: usize,
    name: TextColumn,
    arguments: TextColumn,
    state: TextColumn,
    id: TextColumn,
    dialect: TextColumn,
    start: NumberColumn,
    end: NumberColumn,
}

#[derive(Default)]
struct ErrorColumns {
    rows: ListColumn,
    items: Mask,
    count: usize,
    kind: TextColumn,
    severity: TextColumn,
    message: TextColumn,
    start: NumberColumn,
    end: NumberColumn,
}

impl Fill {
    /// `wanted`: names of [`FIELDS`].
    pub fn new(wanted: &[String]) -> Self {
        let has = |name: &str| wanted.iter().any(|want| want == name);
        Self {
            mask: Mask::default(),
            text: has("text").then(TextColumn::default),
            reasoning: has("reasoning").then(TextColumn::default),
            calls: has("calls").then(CallColumns::default),
            errors: has("errors").then(ErrorColumns::default),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, turn: Option<&Turn>) -> Result<(), Failure> {
        self.mask.push(turn.is_some());
        if let Some(text) = &mut self.text {
            text.push(turn.map(|turn| turn.text.as_str()))?;
        }
        if let Some(reasoning) = &mut self.reasoning {
            reasoning.push(turn.map(|turn| turn.reasoning.as_str()))?;
        }
        if let Some(calls) = &mut self.calls {
            calls.push(turn)?;
        }
        if let Some(errors) = &mut self.errors {
            errors.push(turn)?;
        }
        Ok(())
    }

    pub fn column(self, name: &'static str) -> Column {
        let mut fields = vec![];
        fields.extend(self.text.map(|text| text.column("text")));
        fields.extend(self.reasoning.map(|text| text.column("reasoning")));
        fields.extend(self.calls.map(CallColumns::column));
        fields.extend(self.errors.map(ErrorColumns::column));
        self.mask.column(name, "+s", vec![], fields)
    }
}

impl CallColumns {
    fn push(&mut self, turn: Option<&Turn>) -> Result<(), Failure> {
        for call in turn.into_iter().flat_map(|turn| &turn.calls) {
            self.items.push(true);
            self.count += 1;
            self.name.push(Some(&call.name))?;
            self.arguments.push(Some(&call.arguments))?;
            self.state.push(Some(call.grade.name()))?;
            let id = call.meta.iter().find(|(key, _)| key == "id");
            self.id.push(id.map(|(_, id)| id.as_str()))?;
            self.dialect.push(Some(&call.dialect))?;
            self.start.push(call.span.start);
            self.end.push(call.span.end);
        }
        self.rows.push(turn.is_some(), self.count)
    }

    fn column(self) -> Column {
        let fields = vec![
            self.name.column("name"),
            self.arguments.column("arguments"),
            self.state.column("state"),
            self.id.column("id"),
            self.dialect.column("dialect"),
            self.start.column("start"),
            self.end.column("end"),
        ];
        self.rows
            .column("calls", self.items.column("item", "+s", vec![], fields))
    }
}

impl ErrorColumns {
    fn push(&mut self, turn: Option<&Turn>) -> Result<(), Failure> {
        for report in turn.into_iter().flat_map(|turn| &turn.issues) {
            self.items.push(true);
            self.count += 1;
            self.kind.push(Some(report.kind.name()))?;
            self.severity.push(Some(report.severity.name()))?;
            self.message.push(Some(&report.message))?;
            self.start.push(report.span.start);
            self.end.push(report.span.end);
        }
        self.rows.push(turn.is_some(), self.count)
    }

    fn column(self) -> Column {
        let fields = vec![
            self.kind.column("kind"),
            self.severity.column("severity"),
            self.message.column("message"),
            self.start.column("start"),
            self.end.column("end"),
        ];
        self.rows
            .column("errors", self.items.column("item", "+s", vec![], fields))
    }
}
