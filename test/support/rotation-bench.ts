import { withHashKeys } from "#shared/settings/settings.ts";
import { optOut } from "#functions/dialer/results/opt-out.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { type RotatedKeys, listKeys } from "#shared/lib/rotated-keys.ts";
import { createTestApi } from "./api.ts";
import { createDialerBench } from "./dialer.ts";
import { aCallNow, hashKey, rowOf, sendEach } from "./dialer-calls.ts";
import { apiEnvironment, tokens } from "./environment.ts";
import { jsonRequest } from "./json-request.ts";

export const formerKey = hashKey;
export const currentKey = "a7".repeat(32);
/** HASH_KEY before, during and after its rotation. */
export const holders = {
  before: { current: formerKey },
  during: { current: currentKey, former: formerKey },
  after: { current: currentKey },
} satisfies Record<string, RotatedKeys>;
export type Holder = keyof typeof holders;

/**
 * Creates the operator's API and the dialer over one ledger. Each act is that of a process with a HASH_KEY of its own, as
 * while it is rotated.
 */
export function createRotationBench(plan: object = {}) {
  const bench = createDialerBench({ plan, startAt: "2026-06-01T10:00Z" });
  const { settings } = bench.deps;
  const documents: Documents = { ...bench.documents };
  bench.deps.documents = documents;
  const apis = new Map<Holder, ReturnType<typeof createTestApi>["app"]>();
  const apiOf = (holder: Holder) => {
    const known = apis.get(holder);
    if (known !== undefined) return known;
    const environment = { ...apiEnvironment, HASH_KEY: listKeys(holders[holder]).join(" ") };
    const { app } = createTestApi({ environment, ledger: bench.rows, documents, now: bench.now });
    apis.set(holder, app);
    return app;
  };
  const as = (holder: Holder) => {
    bench.deps.settings = { ...settings, ...withHashKeys(holders[holder]) };
  };
  return {
    bench,
    /** The documents as API and dialer use them; a test may replace its methods. */
    documents,
    as,
    async ask(holder: Holder, path: string, body: object, method = "POST") {
      const response = await apiOf(holder).request(
        `/operator${path}`,
        jsonRequest(tokens.operator, method, body),
      );
      const answer: Record<string, unknown> = await response.json();
      return { status: response.status, body: answer };
    },
    /** Sends a call to a number, and resolves to its row once the dialer has had it. */
    async dial(holder: Holder, phone_number: string): Promise<CallRow | undefined> {
      as(holder);
      const call = aCallNow(bench, { phone_number, timezone: "UTC" });
      await sendEach(bench, call);
      await bench.deliver();
      return bench.row(call.id);
    },
    async optOut(holder: Holder, row: CallRow): Promise<boolean> {
      as(holder);
      return optOut(await rowOf(bench, row), bench.deps);
    },
    async sweep(holder: Holder): Promise<void> {
      as(holder);
      await bench.sweep();
    },
  };
}
export type RotationBench = ReturnType<typeof createRotationBench>;
