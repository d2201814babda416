import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import { createTestApi } from "./api.ts";
import { tokens } from "./environment.ts";

/** What operators ask for first, each of what there is much, or nothing at all. */
const questions: [path: string, body?: object][] = [
  ["/calls?state=DEFERRED"],
  ["/calls?state=PARKED"],
  ["/calls?state=PLACED&agent_id=nobody"],
  ["/calls?state=DEFERRED&reason=none&limit=200"],
  ["/calls?request_id=req_much"],
  ["/calls?request_id=req_none"],
  ["/calls/search", { phone_number: "+12025550123" }],
  ["/calls/call_1"],
  ["/counts"],
  ["/holds"],
  ["/acts"],
  ["/do-not-call/check", { phone_number: "+12025550123" }],
];

/** How many rows or items of the ledger each first page reads, by `rowsRead`, the engine's own count. */
export async function readsOfFirstPages(
  ledger: CallLedger,
  rowsRead: () => number,
): Promise<Record<string, number>> {
  const { app } = createTestApi({ ledger });
  const reads: Record<string, number> = {};
  for (const [path, body] of questions) {
    const before = rowsRead();
    const { status } = await app.request(`/operator${path}`, {
      headers: { authorization: `Bearer ${tokens.operator}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    if (status >= 500) throw new Error(`${path} was answered ${status}`);
    reads[path] = rowsRead() - before;
  }
  return reads;
}
