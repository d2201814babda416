import type { CallRow } from "#shared/calls/call-row.ts";
import { createRequestId, toCallId } from "#shared/calls/ids.ts";
import { callStates } from "#shared/calls/states.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { rowIn, writeRows } from "./rows.ts";

const requestCalls = 10_000;
const minuteMs = 60_000;

/** Fills a ledger with requests of 10,000 calls, whose calls are in all states by turns. */
export async function fillWithMany(
  count: number,
  { ledger, documents, now }: { ledger: CallLedger; documents: Documents; now: number },
): Promise<void> {
  for (let start = 0; start < count; start += requestCalls) {
    const acceptedAt = now - (start / requestCalls + 1) * 30 * minuteMs;
    const requestId = createRequestId(acceptedAt, String(start).padStart(32, "6"));
    const batchCalls = Math.min(requestCalls, count - start);
    const rows = Array.from({ length: batchCalls }, (_, index): CallRow => {
      const request = {
        phone_number: `+121255${String(index).padStart(5, "0")}`,
        agent_id: "agent_sales",
      };
      const id = toCallId(requestId, index);
      const call = {
        id,
        requestId,
        batchCalls,
        client: "crm",
        mode: "live" as const,
        acceptedAt,
        request,
      };
      const state = callStates[index % callStates.length] ?? "WAITING";
      return rowIn(state, call, { at: acceptedAt + index * 100, reason: "http_500" });
    });
    await writeRows(rows, ledger, documents);
  }
}
