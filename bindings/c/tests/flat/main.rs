//! Writes the files that the tests in C, C++ and JavaScript read: the vectors, as logs of the engine without the C interface.

mod agents;
mod vectors;
