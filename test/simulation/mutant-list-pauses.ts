import { mutantsOf } from "./mutant.ts";

/** Rules about pauses: whose calls they stop, and until when. */
export const pauseMutants = mutantsOf(
  ["test/unit/dialer/pauses.test.ts", "test/unit/api/pauses.test.ts"],
  [
    [
      "a client's pause stops its calls",
      "const own = [pauseKeyOf({ agent: agentId }), pauseKeyOf({ client })];",
      "void client;\n  const own = [pauseKeyOf({ agent: agentId })];",
    ],
    [
      "a pause ends by itself at its end",
      "return { value, expiresAt: value.until ?? null };",
      "return { value, expiresAt: null };",
    ],
    [
      "a pause that is ordered again ends no earlier",
      "Math.max(paused.until ?? 0, again.until ?? 0)",
      "(again.until ?? 0)",
    ],
  ],
);
