//! Request types as hosts have them.

use serde::{Deserialize, Serialize};

/// A part that other types flatten.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    pub temperature: f32,
    pub top_p: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub model: String,
    #[serde(flatten)]
    pub sampling: Sampling,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Score {
    Number(f32),
    List(Vec<f64>),
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text { text: String },
    Weight { value: f64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value")]
pub enum Beside {
    Weight(f32),
}
