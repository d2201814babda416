import type { Context } from "hono";
import { hourMs } from "#shared/lib/units.ts";
import { countWrites } from "#shared/policy/write-counts.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { recordNumbers } from "../api/actions/audit-log.ts";
import { writerOf } from "../api/actions/writer.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { answerProblem } from "../api/http/problem.ts";
import { refuseWithoutRole } from "./roles.ts";

/** Maximum numbers that one operator's token looks up in an hour of the clock. */
const numbersPerHourMax = 100;

/** Maximum lists that one operator's token checks or forecasts in an hour of the clock: the parts of the largest file of leads. */
const listsPerHourMax = 200;

/** Description of a route that looks up a number. */
export const lookUpText = `Recorded by the number's keyed hash. A token looks up at most ${numbersPerHourMax} numbers in an hour; one number counts once.`;

/**
 * Records in the audit log that an operator looks up a number. A number is recorded, and counted, once an hour for each
 * operator, so that a view which renews itself is one look-up.
 *
 * @returns the answer 403 without the role `find`, or 429 above the maximum; undefined if the number may be looked up
 */
export async function refuseLookUp(
  c: Context<ApiEnv>,
  number: string,
  deps: RouteDeps,
): Promise<Response | undefined> {
  const refused = refuseWithoutRole(c, "find", deps);
  if (refused !== undefined) return refused;
  const { clock, documents, numbers: hasher } = deps;
  const hour = Math.floor(clock.now() / hourMs);
  const endsAt = (hour + 1) * hourMs;
  const name = { kind: "look-ups", key: `${hour}#${c.get("caller").tokenId}` } as const;
  const hash = hasher.trace(number).numberHash;
  const known = (await documents.read([name])).get(name.kind, name.key)?.value.numbers ?? [];
  if (known.includes(hash)) return undefined;
  if (known.length >= numbersPerHourMax) return answerTooMany(c, lookedUp, deps);
  const entry = { action: "look_up", target: "number", reason: "look_up", hashes: [hash] };
  await recordNumbers(c, entry, deps);
  let isFull = false;
  const change = (current: { numbers: string[] } | undefined) => {
    const numbers = current?.numbers ?? [];
    if (numbers.includes(hash)) return undefined;
    isFull = numbers.length >= numbersPerHourMax;
    return isFull ? undefined : { value: { numbers: [...numbers, hash] }, expiresAt: endsAt };
  };
  await changeDocument({ name, change }, deps);
  return isFull ? answerTooMany(c, lookedUp, deps) : undefined;
}

/**
 * Counts a check or a forecast of a list. Such a list can look up a number too: put it among many numbers whose
 * answer is known.
 *
 * @returns the answer 429 above the hour's maximum; undefined if the list may be checked
 */
export async function refuseListCheck(
  c: Context<ApiEnv>,
  did: "checked" | "forecast",
  deps: RouteDeps,
): Promise<Response | undefined> {
  const { clock, log } = deps;
  const writer = writerOf(c);
  const counted = await countWrites(
    { writer, at: clock.now(), withinMs: hourMs, counters: { [did]: 1 } },
    deps,
  );
  if ((counted[did] ?? 0) <= listsPerHourMax) return undefined;
  const token_id = c.get("caller").tokenId;
  log("warning", "guard.refused", { token_id, count: 1, reason: did });
  return answerTooMany(c, `${did} ${listsPerHourMax} lists`, deps);
}

const lookedUp = `looked up ${numbersPerHourMax} numbers`;

function answerTooMany(c: Context<ApiEnv>, did: string, { clock }: RouteDeps): Response {
  const waitMs = hourMs - (clock.now() % hourMs);
  const detail = `The token has ${did} in this hour, which is the maximum.`;
  const headers = { "retry-after": String(Math.ceil(waitMs / 1000)) };
  return answerProblem(c, 429, { detail, headers });
}

/** Answers that nobody is dialed, as the list cannot be read. */
export function refuseOtherKey(c: Context<ApiEnv>): Response {
  const detail =
    "The list may have entries under a HASH_KEY that is missing, so nobody is dialed. Set that key as the former one " +
    "(docs/administration.md), or send all of the list again, with renew.";
  return answerProblem(c, 409, { detail });
}
