import type { agents } from "./scenario.ts";

/** One exploration: a call along one route, and the faults that may occur. */
export interface Exploration {
  agent: (typeof agents)[number];
  /** True if each dialer has a different call to the same person, who may be called once more today. */
  capped?: boolean;
  /** True if the call stands as a row that waits, and both dialers are sent a dispatch of it. */
  isRow?: boolean;
  /** Maximum number of killed functions. */
  kills: number;
  /** Maximum number of jumps in time, during which every running function stands still. */
  jumps: number;
  /** Maximum number of failed writes of the ledger or of a cap, with or without effect. */
  faults: number;
}

const routes = ["plain", "again", "known"] as const;
/** All explorations of the full run: each route, with each kind of fault once. */
export const explorations: readonly Exploration[] = [
  ...routes.map((agent) => ({ agent, kills: 1, jumps: 0, faults: 0 })),
  ...routes.map((agent) => ({ agent, kills: 0, jumps: 0, faults: 1 })),
  ...routes.map((agent) => ({ agent, kills: 0, jumps: 1, faults: 0 })),
  { agent: "plain", capped: true, kills: 0, jumps: 0, faults: 1 },
  { agent: "plain", capped: true, kills: 1, jumps: 0, faults: 0 },
  { agent: "plain", kills: 1, jumps: 1, faults: 0 },
  ...routes.map((agent) => ({ agent, isRow: true, kills: 1, jumps: 0, faults: 0 })),
  ...routes.map((agent) => ({ agent, isRow: true, kills: 0, jumps: 0, faults: 1 })),
];

/** True if trying all orders takes seconds, not minutes. */
export const isShort = ({ capped = false, jumps }: Exploration) => jumps === 0 && !capped;
