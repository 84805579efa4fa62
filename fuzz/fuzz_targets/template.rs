#![no_main]

toolglot_fuzz::target!(template);
