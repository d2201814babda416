import { backlogOf } from "#shared/calls/call-row.ts";
import { rowStatements, toRowJson } from "#shared/cloudflare/d1-rows.ts";
import { callStates } from "#shared/calls/states.ts";
import { rowStep, usageKeyOf } from "#shared/policy/usage.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { rowIn } from "../support/rows.ts";

const hourMs = 3_600_000;
/** A context value that a careless page would execute. */
export const awkward = `<img src=x onerror="document.title='broken into'">`;

/** Id of the request for the calls of each state. */
export const requestIds = Object.fromEntries(
  callStates.map((state) => [state, aRequestId(Date.now())]),
);

/** Key of the breaker that is open. */
const refusedBacklog = 'backlog:["crm","agent_2"]';

/**
 * Returns SQL that adds calls in every state, their counts, the backlogs of waiting calls and the open breaker
 * of one of them.
 */
export function seeds(): string {
  const now = Date.now();
  const quote = (value: string | number | null) =>
    value === null ? "NULL" : `'${String(value).replaceAll("'", "''")}'`;
  const insert = (table: string, row: Record<string, string | number | null>) =>
    `INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${Object.values(row).map(quote).join()});`;
  const rows = callStates.flatMap((state, place) =>
    Array.from({ length: 30 + place * 5 }, (_, n) => {
      const acceptedAt = now - n * 600_000 - place * 60_000;
      const request = {
        phone_number: `+1303555${String(place * 100 + n).padStart(4, "0")}`,
        agent_id: n === 0 ? "reviewed_one" : `agent_${n % 3}`,
        context: { name: n === 0 ? awkward : "Ada" },
      };
      const call = aCall({ requestId: requestIds[state] ?? "", acceptedAt, request });
      const reason = state === "WAITING" ? "hours:callingHours.default" : "http_500";
      const row = rowIn(state, call, { at: acceptedAt + 900, reason, dueAt: now + 10 * hourMs });
      return state === "DIALING" ? { ...row, dueAt: now + 10 * hourMs } : row;
    }),
  );
  const backlogs = new Map(
    rows.filter(({ state }) => state === "WAITING").map((row) => [backlogOf(row), row]),
  );
  const counts = new Map<string, Record<string, number>>();
  for (const row of rows) {
    const { of, counters } = rowStep(row, row.updatedAt);
    const { key } = usageKeyOf(row.updatedAt, of);
    const sums = counts.get(key) ?? {};
    for (const [name, count] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + count;
    counts.set(key, sums);
  }
  const document = (kind: string, key: string, value: object) =>
    insert("documents", {
      kind,
      key,
      version: randomVersion(),
      expires_at: null,
      value: JSON.stringify(value),
    });
  return [
    `${rowStatements.insert.replace("?1", quote(`[${rows.map((row) => toRowJson(row, null)).join()}]`))};`,
    document("breaker", refusedBacklog, {
      state: "open",
      code: "http_404",
      openedAt: now,
      probeAt: now + 8000,
      intervalMs: 8000,
      cause: "calls_refused",
      room: 0,
      blamed: [],
    }),
    document("counters", `${refusedBacklog} refusals`, { http_404: 20, "in US": 20 }),
    ...[...counts].map(([key, value]) => document("usage", key, value)),
    ...[...backlogs].map(([key, { client, agentId }]) =>
      document("backlog", key, { client, agentId, usedAt: now, answers: null }),
    ),
  ].join("\n");
}
