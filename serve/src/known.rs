//! The run that a path names.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::app::App;
use crate::problem::Problem;
use crate::store::Entry;

/// A run, found by the id in the path.
pub struct Known(pub Entry);

impl FromRequestParts<Arc<App>> for Known {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let id = Path::<String>::from_request_parts(head, app).await;
        let Path(id) = id.map_err(|error| Problem::bad(error.body_text()))?;
        app.run(&id).map(Self)
    }
}
