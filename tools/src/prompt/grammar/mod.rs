//! Grammars for constrained decoding, derived from the dialect's own encoder.
//!
//! Nothing here knows the syntax of a dialect. Each tool is called with unique values, by [`encode`](toolglot::encode()), and
//! the text before, between and after these values is the grammar. So it allows what the parser reads. If calls cannot be taken
//! apart like that, the result is a typed error.
//!
//! A grammar allows one block of calls, or several calls if a dialect repeats them. Parameters come in the order of the schema;
//! optional ones may be left out. JSON values follow the schema: exactly in a structural tag and in Lark, which support
//! schemas, and by types, `enum`, `const`, `items` and `properties` in GBNF.

mod expr;
mod schema;
mod shape;
#[cfg(test)]
mod tests;

use toolglot::json::{Value as Json, json};

use expr::{Expr, Grammar};
use shape::{Core, Shapes};

use super::Layout;
use crate::Inventory;

/// Why there is no grammar.
///
/// ```
/// use toolglot_tools::Inventory;
/// use toolglot_tools::prompt::Layout;
/// use toolglot_tools::prompt::grammar::{CallGrammar, GrammarError};
///
/// let layout = Layout::new(&toolglot::DialectSet::builtin("hermes")?, "hermes")?;
/// let error = CallGrammar::new(&layout, &Inventory::default()).unwrap_err();
/// assert_eq!(error, GrammarError::Empty);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// There are no tools.
    #[error("there are no tools to call")]
    Empty,
    /// The dialect cannot express a call.
    #[error("{tool} cannot be called in this dialect: {why}")]
    Call {
        /// The tool.
        tool: String,
        /// Why not.
        why: String,
    },
    /// A value is not verbatim in the text.
    #[error("{tool}: values of {param} cannot be distinguished from the text around them")]
    Value {
        /// The tool.
        tool: String,
        /// The parameter.
        param: String,
    },
    /// Calls of different tools, or parameters, are not combined regularly.
    #[error("{tool}: its calls have no regular form")]
    Form {
        /// The tool.
        tool: String,
    },
}

/// A dialect's calls of some tools, taken apart. It can be written in any of three notations.
///
/// ```
/// use toolglot::DialectSet;
/// use toolglot_tools::prompt::Layout;
/// use toolglot_tools::prompt::grammar::CallGrammar;
/// use toolglot_tools::{Inventory, Tool};
///
/// let tools = Inventory::of([Tool::new("weather")])?;
/// let layout = Layout::new(&DialectSet::defaults(), "hermes")?;
/// let grammar = CallGrammar::new(&layout, &tools)?;
/// assert!(grammar.gbnf().contains("weather"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallGrammar {
    shapes: Shapes,
}

impl CallGrammar {
    /// Creates the grammar of the tools in a layout's dialect.
    ///
    /// # Errors
    /// The dialect's calls cannot be taken apart; the error says which.
    pub fn new(layout: &Layout, tools: &Inventory) -> Result<Self, GrammarError> {
        Ok(Self {
            shapes: Shapes::new(layout, tools)?,
        })
    }

    /// Whether it allows several calls in a row.
    #[must_use]
    pub fn parallel(&self) -> bool {
        self.shapes.between.is_some()
    }

    /// The grammar as GBNF, which llama.cpp and XGrammar read.
    #[must_use]
    pub fn gbnf(&self) -> String {
        let mut grammar = Grammar::default();
        let calls = self.calls(&mut grammar, false);
        let open = Expr::Text(self.shapes.open.clone());
        let close = Expr::Text(self.shapes.close.clone());
        grammar.add("root", Expr::Seq(vec![open, calls, close]));
        grammar.gbnf()
    }

    /// The grammar as Lark, which llguidance reads.
    #[must_use]
    pub fn lark(&self) -> String {
        let mut grammar = Grammar::default();
        let calls = self.calls(&mut grammar, true);
        let open = Expr::Text(self.shapes.open.clone());
        let close = Expr::Text(self.shapes.close.clone());
        grammar.add("start", Expr::Seq(vec![open, calls, close]));
        grammar.lark()
    }

    /// The grammar as an XGrammar structural tag: free text, and calls wherever the first bytes of one occur.
    #[must_use]
    pub fn structural_tag(&self) -> Json {
        let open = &self.shapes.open;
        let tags: Option<Vec<Json>> = self
            .shapes
            .calls
            .iter()
            .map(|call| match &call.core {
                Core::Json {
                    before,
                    after,
                    schema,
                } => {
                    let content = json!({"type": "json_schema", "json_schema": schema});
                    Some(json!({"type": "tag", "begin": before, "content": content, "end": after}))
                }
                Core::Params(_) => None,
            })
            .collect();
        if let (Some(tags), "") = (&tags, self.shapes.close.as_str()) {
            // Calls that end by themselves are separate: an opener for each.
            let mut tags = tags.clone();
            for tag in &mut tags {
                let begin = tag["begin"].as_str().unwrap_or_default();
                tag["begin"] = Json::from(format!("{open}{begin}"));
            }
            let format = json!({
                "type": "triggered_tags", "triggers": [open], "tags": tags,
                "at_least_one": false, "stop_after_first": false,
            });
            return json!({"type": "structural_tag", "format": format});
        }
        let content = match (tags, &self.shapes.between) {
            (Some(tags), Some(between)) => json!({
                "type": "tags_with_separator", "tags": tags, "separator": between,
                "at_least_one": true, "stop_after_first": false,
            }),
            (Some(tags), None) => json!({"type": "or", "elements": tags}),
            (None, _) => {
                let mut grammar = Grammar::default();
                let calls = self.calls(&mut grammar, false);
                grammar.add("root", calls);
                json!({"type": "grammar", "grammar": grammar.gbnf()})
            }
        };
        let tag =
            json!({"type": "tag", "begin": open, "content": content, "end": self.shapes.close});
        let format = json!({
            "type": "triggered_tags", "triggers": [open], "tags": [tag],
            "at_least_one": false, "stop_after_first": self.shapes.between.is_some(),
        });
        json!({"type": "structural_tag", "format": format})
    }

    /// The grammar between opener and closer.
    fn calls(&self, grammar: &mut Grammar, schemas: bool) -> Expr {
        let mut all = vec![];
        for (index, call) in self.shapes.calls.iter().enumerate() {
            let name = format!("call{index}");
            let body = call.core.expr(&name, grammar, schemas);
            grammar.add(&name, body);
            all.push(Expr::Rule(name));
        }
        grammar.add("call", Expr::Or(all));
        let one = Expr::Rule("call".to_owned());
        match &self.shapes.between {
            None => one,
            Some(between) => {
                let next = Expr::Seq(vec![Expr::Text(between.clone()), one.clone()]);
                Expr::Seq(vec![one, Expr::Many(Box::new(next))])
            }
        }
    }
}
