import * as fc from "fast-check";
import type { StoredText } from "#shared/ports/document-kinds.ts";
import type { Requesting } from "./clients.ts";
import { tokens } from "./plan.ts";
import { type Act, type Scenario, scenarios } from "./scenario.ts";
import type { World } from "./world.ts";
import { jsonRequest } from "../support/json-request.ts";

/**
 * Generates scenarios with one restore. Of what operators and clients did between the backup and the restore only opt-outs,
 * erasures and cancellations must stand, so nobody does anything else but post calls without a key.
 */
export const restoredScenarios: fc.Arbitrary<Scenario> = fc
  .tuple(
    scenarios,
    fc.record({
      toSeconds: fc.nat({ max: 1500 }),
      lostSeconds: fc.integer({ min: 130, max: 1800 }),
      laterSeconds: fc.nat({ max: 1200 }),
    }),
  )
  .map(([scenario, { toSeconds, lostSeconds, laterSeconds }]) => ({
    ...scenario,
    acts: scenario.acts.map((one) => ({ ...one, act: actsKept[one.act] ?? one.act })),
    capped: false,
    later: 0,
    posts: scenario.posts.map((post) => ({ ...post, key: undefined })),
    restore: {
      toSeconds,
      atSeconds: toSeconds + lostSeconds,
      confirmedSeconds: toSeconds + lostSeconds + laterSeconds,
    },
  }));

/** Acts by which an operator does what a restore must not undo. */
const actsKept: Partial<Record<Act["act"], Act["act"]>> = {
  "pause agent": "erase",
  "pause account": "do not call",
  "pause client": "do not call",
  redial: "erase",
  resolve: "do not call",
};

/** Sweeps between the backup and the restore: a restore to a later state cannot be noticed. */
const epochsMin = 2;

/** Restores a ledger and its documents once, and has an operator confirm it until calls are dialed again. */
export function createRestores(
  world: World,
  { restore }: Pick<Scenario, "restore">,
  ledger: { copy(): () => void },
  documents: Map<string, StoredText>,
  epoch: () => number,
  request: Requesting,
): void {
  if (restore === undefined) return;
  let restoredTo = 0;
  let putBack = () => undefined as void;
  let isBack = false;
  world.after(restore.toSeconds * 1000, "the ledger is copied", () => {
    const epochBefore = epoch();
    const rows = ledger.copy();
    const texts = structuredClone([...documents]);
    restoredTo = world.now();
    putBack = () => {
      if (epoch() < epochBefore + epochsMin) {
        world.after(10_000, "the restore is put off", putBack);
        return;
      }
      isBack = true;
      rows();
      documents.clear();
      for (const [name, text] of texts) documents.set(name, text);
    };
  });
  world.after(restore.atSeconds * 1000, "the ledger is restored", () => putBack());
  const confirm = async (): Promise<void> => {
    const shown = await request("/operator/restored", jsonRequest(tokens.operator));
    if (!isBack) {
      await world.wait(60_000, "the operator waits");
      return confirm();
    }
    const isSuspended = shown?.status === 200 && shown.text.includes('"suspended"');
    if (isSuspended) {
      const body = { at: new Date(restoredTo).toISOString() };
      await request("/operator/restored", jsonRequest(tokens.operator, "POST", body));
    }
    if (shown?.status === 200 && shown.text.includes('"done"')) return;
    await world.wait(world.between(5_000, 300_000), "the operator looks again");
    return confirm();
  };
  world.after(restore.confirmedSeconds * 1000, "the operator looks", () => void confirm());
}
