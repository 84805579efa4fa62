//! A model and an approver where nobody is asked.

use toolglot::Finish;
use toolglot_agent::driver::{Approver, Model, Stream, Task, pieces};
use toolglot_agent::{Ask, Confirm, Decision, Said};

/// Denies calls within the call: there is nobody to show them to.
pub struct Refuses;

impl Approver for Refuses {
    fn confirm(&self, _: Confirm) -> Task<Option<Decision>> {
        let why = "a call within a call is confirmed in runs only".to_owned();
        Box::pin(async { Some(Decision::Deny(why)) })
    }
}

/// A model for calls without one.
pub struct Nobody;

impl Model for Nobody {
    fn ask(&self, _: Ask) -> Stream<Said> {
        pieces(async move |_| Said::End(Finish::Stop))
    }
}
