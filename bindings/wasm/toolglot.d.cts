export type * from "./toolglot.js" with { "resolution-mode": "import" };
export declare const load: typeof import("./toolglot.js", { with: { "resolution-mode": "import" } }).load;
