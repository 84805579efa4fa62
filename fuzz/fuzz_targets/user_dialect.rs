#![no_main]

toolglot_fuzz::target!(user_dialect);
