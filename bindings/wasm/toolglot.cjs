// toolglot for programs that use `require`: the same module, loaded when it is first needed.
"use strict";

exports.load = async (...options) => (await import("./toolglot.js")).load(...options);
