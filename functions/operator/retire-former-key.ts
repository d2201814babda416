import { doNotCallListKey, findCurrentSince } from "#shared/policy/number-entries.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { changeList } from "#shared/policy/dnc-entries.ts";
import { allTokens, clientKeyOf, isTokenValid } from "#shared/policy/stored-tokens.ts";
import { capDaysMax } from "#shared/telephony/frequency-cap.ts";
import { keyNameIn } from "#shared/telephony/number-hashes.ts";
import { dayMs } from "#shared/lib/units.ts";
import * as z from "#shared/lib/zod.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { answerProblem } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { declareRoute } from "../api/http/route.ts";

/** Retires the former HASH_KEY in the do-not-call list, once nothing depends on it. */
const retireFormerKey = declareRoute({
  operationId: "retireFormerKey",
  summary:
    "Retire the former HASH_KEY, once no entry of the do-not-call list and no token needs it",
  method: "post",
  role: "configure",
  path: "/hash-key/retire-former",
  body: z.strictObject({}),
  answer: z.strictObject({ retired: z.literal(true) }),
  problems: [409],
  async handle({ c, deps }) {
    const [, name] = deps.numbers.keyNames;
    if (name === undefined) {
      return answerProblem(c, 409, { detail: "HASH_KEY holds one key: there is no former one." });
    }
    const detail =
      (await findTimeLeft(deps)) ?? (await findEntry(name, deps)) ?? (await findToken(name, deps));
    if (detail !== undefined) return answerProblem(c, 409, { detail });
    await recordAction(c, { action: "retire_former_key", target: "do-not-call list" }, deps);
    // Nobody can add an entry under the former key now: rows that are hashed under it are gone.
    await changeList((list) => ({ ...list, keys: list.keys.filter((one) => one !== name) }), deps);
    return { retired: true as const };
  },
});

export const formerKeyRoutes = [retireFormerKey];

/** Returns that rows or caps may still be hashed under the former key; undefined if none is. */
async function findTimeLeft({ documents, numbers, clock, retentionMs }: RouteDeps) {
  const since = findCurrentSince(await documents.read([doNotCallListKey]), numbers.keyNames);
  if (since === undefined) {
    return "The dialer has not noted the current key yet. It does so within minutes of the rotation.";
  }
  // A callee who opts out is listed by the hash of the row. A day more, as rows are purged a little late.
  const until = since + Math.max(retentionMs, capDaysMax * dayMs) + dayMs;
  if (clock.now() >= until) return undefined;
  return `Calls and caps may still be hashed under the former key, until ${new Date(until).toISOString()}.`;
}

/** Returns that a token which is still valid has its MAC under a key; undefined if none has. */
async function findToken(
  keyName: string,
  { documents, clock }: RouteDeps,
): Promise<string | undefined> {
  for await (const token of allTokens(documents)) {
    const { key: id } = token;
    if (!isReadable(token)) {
      return `The token ${id}, which only a later version of the service can read, may depend on the former key.`;
    }
    const { value } = token;
    if (value.keyName !== keyName) continue;
    const key = clientKeyOf(value.client);
    const client = (await documents.read([key])).get(key.kind, key.key)?.value;
    if (!isTokenValid(value, client, clock.now())) continue;
    return (
      `The token ${id} of client ${value.client} depends on the former key, and would not be valid any more. ` +
      "Make the client another token, and revoke this one."
    );
  }
  return undefined;
}

/** Returns that an entry stands under a key; undefined if none does. Its entries are next to each other in the list. */
async function findEntry(keyName: string, { documents }: RouteDeps): Promise<string | undefined> {
  const [first] = await documents.list("do-not-call", { after: keyName, limit: 1 });
  if (first === undefined || keyNameIn(first.key) !== keyName) return undefined;
  const [, client] = /^\S+ (.*)$/s.exec(first.key) ?? [];
  const whose = client === undefined ? "" : ` of client ${client}`;
  const again =
    client === undefined ? "dnc add" : `by the client itself, or dnc add --client ${client}`;
  return (
    `An entry${whose} of the do-not-call list is under the former key. Entries move when their numbers are put onto the list ` +
    `again (${again}) twice, a minute apart, or when two calls to them are refused.`
  );
}
