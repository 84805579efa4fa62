export type * from "./agent.js" with { "resolution-mode": "import" };
export declare const load: typeof import("./agent.js", { with: { "resolution-mode": "import" } }).load;
