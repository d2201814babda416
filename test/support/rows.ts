import { toAccountName } from "#shared/calls/ids.ts";
import { accountOf } from "./account-of.ts";
import { type Call, type Route, toSandboxRoute } from "#shared/calls/call-request.ts";
import { backlogOf, type CallRow } from "#shared/calls/call-row.ts";
import type { CallState } from "#shared/calls/states.ts";
import {
  applyAction,
  applyClaim,
  applyDecision,
  applySettlement,
} from "#shared/calls/transitions.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { apiEnvironment } from "./environment.ts";

const webhook = {
  account: toAccountName("webhook"),
  provider: "webhook",
  url: "http://127.0.0.1:9/dial",
} as const;

/** Returns the row of a call brought into a state by the state machine, at a time and for a reason. */
export function rowIn(
  state: CallState,
  call: Call,
  {
    at = Date.now(),
    reason = "r",
    route = call.mode === "test" ? toSandboxRoute(call.client, webhook) : webhook,
    ...more
  }: { at?: number; reason?: string; dueAt?: number; route?: Route } = {},
): CallRow {
  const { dueAt = at + 60_000 } = more;
  const known = { call, ...hashNumber(call.request.phone_number, apiEnvironment.HASH_KEY) };
  const write = () => ({ version: randomVersion(), at });
  const made = (row: CallRow | undefined): CallRow => {
    if (row === undefined) throw new Error(`no call comes into ${state} so`);
    return row;
  };
  if (state === "WAITING") {
    return made(
      applyDecision(undefined, { newCall: known, decision: { state, reason, dueAt } }, write()),
    );
  }
  if (state === "EXPIRED" || state === "CANCELLED") {
    return made(applyDecision(undefined, { newCall: known, decision: { state, reason } }, write()));
  }
  const claim = made(
    applyClaim(undefined, { route, account: accountOf(route), newCall: known }, write()),
  );
  if (state === "DIALING") return claim;
  const isRedialed = state === "REDIALED";
  const settlement = {
    id: call.id,
    claim: claim.version,
    state: isRedialed ? ("NEEDS_REVIEW" as const) : state,
    reason,
    dueAt,
    at,
  };
  const row = made(applySettlement(claim, settlement, randomVersion()));
  if (!isRedialed) return row;
  const redialedAs = call.id.replace(/\d{5}$/, "99999");
  return made(
    applyAction(row, { action: { to: "REDIALED", redialedAs }, by: "operator" }, write()),
  );
}

/** Writes new rows, and the documents of the backlogs in which some of them wait. */
export async function writeRows(
  rows: readonly CallRow[],
  ledger: CallLedger,
  documents: Documents,
): Promise<void> {
  const backlogs = new Map(
    rows.filter(({ state }) => state === "WAITING").map((row) => [backlogOf(row), row]),
  );
  const now = Date.now();
  await documents.write(
    [...backlogs].map(([key, { client, mode, agentId }]) => ({
      next: {
        kind: "backlog" as const,
        key,
        version: randomVersion(randomId()),
        value: {
          client,
          mode,
          agentId,
          usedAt: now,
          answers: null,
        },
        expiresAt: null,
      },
      seen: null,
    })),
  );
  for (let start = 0; start < rows.length; start += 100) {
    const some = rows.slice(start, start + 100).map((next) => ({ next, seen: null }));
    const written = await ledger.write(some);
    if (written.includes(false)) throw new Error("a row was not written");
  }
}
