//! Groups of options in the help.

pub const DIALECTS: &str = "Dialects";
pub const INPUT: &str = "Input";
#[cfg(feature = "agent")]
pub const MODEL: &str = "Model";
pub const OUTPUT: &str = "Output";
pub const RECORDS: &str = "Records";
pub const RUN: &str = "Run";
#[cfg(feature = "serve")]
pub const SERVER: &str = "Server";
pub const TOOLS: &str = "Tools";
