import { readCallId, readRequestId, requestIdOf } from "#shared/calls/ids.ts";
import { findSplit } from "#shared/dial-plan/splits.ts";
import * as z from "#shared/lib/zod.ts";
import type { ListOf } from "#shared/ports/ledger.ts";
import { isE164 } from "#shared/telephony/phone-number.ts";
import { readUsage } from "../api/actions/read-usage.ts";
import { dayMs } from "#shared/lib/units.ts";
import { otherNames } from "#shared/policy/usage.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { phoneNumber } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import { lookUpText, refuseLookUp } from "./look-up.ts";
import { listByNumber } from "./list-by-number.ts";

const textCharactersMax = 300;

/** Suggestions of one answer, and days of usage in which their names are found. */
const suggestedMax = 10;
const usageDays = 31;

const foundSchema = z.strictObject({
  kind: z.enum(["call", "request", "number", "campaign", "agent", "split", "client"]),
  id: z.string().check(z.describe("Its id or name; of a number, E.164")),
});
type Found = z.infer<typeof foundSchema>;

const searchedSchema = z.strictObject({
  found: z.array(foundSchema),
  suggested: z
    .array(foundSchema)
    .check(
      z.describe(
        `Where nothing was found: agents, splits, clients, campaigns and the newest request that begin with the text, in any case, at most ${suggestedMax}`,
      ),
    ),
  number: z
    .nullable(z.string())
    .check(z.describe("The number that was looked for, E.164; null: none")),
});

/** Finds what a text names. It is in the body, as it may be a number and logs may contain URLs. */
const search = declareRoute({
  operationId: "search",
  summary:
    "Find what a text names: a call, a request, a number, a campaign, an agent, a split or a client",
  description: `A number is looked up only for operators with the role \`find\`. ${lookUpText}`,
  role: "see",
  method: "post",
  path: "/search",
  body: z.strictObject({
    text: z.string().check(z.trim(), z.minLength(1), z.maxLength(textCharactersMax)),
    phone_number: z
      .optional(phoneNumber)
      .check(
        z.describe("The number that the text was read as, E.164; absent where it is one itself"),
      ),
  }),
  answer: searchedSchema,
  problems: [429],
  async handle({ c, deps, body: { text, phone_number } }) {
    const number = phone_number ?? (isE164(text) ? text : undefined);
    const mayFind = c.get("caller").roles?.includes("find") === true;
    const refused =
      number === undefined || !mayFind ? undefined : await refuseLookUp(c, number, deps);
    if (refused !== undefined) return refused;
    const found = await Promise.all([
      findCallOf(text, deps),
      findRequestOf(text, deps),
      findNumber(mayFind ? number : undefined, deps),
      findNamed({ kind: "campaign", id: text }, { campaign: text }, deps),
      Object.hasOwn(deps.plan.agents, text)
        ? [{ kind: "agent" as const, id: text }]
        : findNamed({ kind: "agent", id: text }, { agentId: text }, deps),
      findNamed({ kind: "client", id: text }, { client: text }, deps),
    ]);
    // Rows have the agents of its arms.
    const split = findSplit(text, deps.plan) === undefined ? [] : [toFoundSplit(text)];
    const all = [...found.flat(), ...split];
    const suggested = all.length > 0 || number !== undefined ? [] : await suggest(text, deps);
    return { found: all, suggested, number: number ?? null };
  },
});

export const searchRoutes = [search];

const toFoundSplit = (id: string): Found => ({ kind: "split", id });

/** Finds agents, splits, clients and campaigns whose names begin with a text, in any case. */
async function suggest(text: string, deps: RouteDeps): Promise<Found[]> {
  const { plan, clock, documents } = deps;
  const to = clock.now();
  const { usage } = await readUsage({ from: to - usageDays * dayMs, to }, documents);
  const names: Record<"agent" | "split" | "client" | "campaign", Set<string>> = {
    agent: new Set([...Object.keys(plan.agents), ...usage.map(({ agentId }) => agentId)]),
    split: new Set(Object.keys(plan.splits)),
    client: new Set(usage.map(({ client }) => client)),
    campaign: new Set(usage.map(({ labels }) => labels.campaign ?? "")),
  };
  const start = text.toLowerCase();
  const fits = (name: string) =>
    name !== "" && name !== "*" && name !== otherNames && name.toLowerCase().startsWith(start);
  const named = (["agent", "split", "client", "campaign"] as const).flatMap((kind) =>
    [...names[kind]]
      .filter(fits)
      .toSorted()
      .map((id): Found => ({ kind, id })),
  );
  return [...(await suggestRequest(text, deps)), ...named].slice(0, suggestedMax);
}

/** The beginning of a request's id, or of its calls'. Fewer characters begin all ids of weeks. */
const idStart = /^(?:call_)?([0-7][0-9A-HJKMNP-TV-Z]{5,25})$/i;
const idDigits = 26;

/** Finds the newest request whose id begins with a text, in any case. */
async function suggestRequest(text: string, { ledger }: RouteDeps): Promise<Found[]> {
  const start = idStart.exec(text)?.[1]?.toUpperCase();
  if (start === undefined) return [];
  const before = `call_${start.padEnd(idDigits, "Z")}_~`;
  const [row] = (await ledger.list({ all: true, before, limit: 1 })).rows;
  const id = row === undefined ? "" : requestIdOf(row.id);
  return id.startsWith(start) ? [{ kind: "request", id }] : [];
}

async function findCallOf(text: string, { ledger }: RouteDeps): Promise<Found[]> {
  const id = readCallId(text);
  if (id === undefined) return [];
  const found = (await ledger.read([id])).get(id);
  return found === undefined ? [] : [{ kind: "call", id }];
}

async function findRequestOf(text: string, deps: RouteDeps): Promise<Found[]> {
  const id = readRequestId(text);
  return id === undefined ? [] : findNamed({ kind: "request", id }, { requestId: id }, deps);
}

async function findNumber(number: string | undefined, deps: RouteDeps): Promise<Found[]> {
  if (number === undefined) return [];
  const page = await listByNumber(deps.ledger, deps.numbers.all(number).asked, {
    limit: 1,
  });
  return isEmpty(page) ? [] : [{ kind: "number", id: number }];
}

async function findNamed(found: Found, of: ListOf, { ledger }: RouteDeps): Promise<Found[]> {
  return isEmpty(await ledger.list({ ...of, limit: 1 })) ? [] : [found];
}

function isEmpty({ rows, unreadable }: { rows: readonly unknown[]; unreadable: number }): boolean {
  return rows.length === 0 && unreadable === 0;
}
