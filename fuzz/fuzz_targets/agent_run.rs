#![no_main]

toolglot_fuzz::target!(agent_run);
