import { accountNameOf } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import * as z from "#shared/lib/zod.ts";
import type { Kind, StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { time, toIsoTime } from "../api/http/fields.ts";
import { findBreakerNeeds } from "./breakers.ts";
import { findLetterNeeds } from "./dead-letters.ts";
import { viewsOf } from "./events.ts";
import { findLedgerNeeds, ledgerNeeds } from "./ledger.ts";
import { reviewTexts, type Texts, textsOf } from "./need-texts.ts";
import { poolHolders, poolKeys } from "#shared/rules/gates.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";
import { distinctKeys } from "#shared/rules/rule.ts";

/** Documents of one page, and maximum pages of a kind: closed breakers stay for a week among the open ones. */
const pageDocuments = 500;
const pagesMax = 4;
/** Maximum real calls that are looked at, and maximum clients that a need names. */
const reviewedMax = 100;
export const clientsMax = 20;

const kinds = [
  "breaker",
  "pause",
  "review",
  "events",
  "dead_letters",
  ...ledgerNeeds,
  "pool",
  "held",
] as const;
export const parts = [
  "breakers",
  "pauses",
  "review",
  "events",
  "dead_letters",
  "ledger",
  "pools",
] as const;
type Part = (typeof parts)[number];

export const needSchema = z
  .strictObject({
    id: z.string().check(z.describe("The same for as long as the need exists")),
    kind: z.enum(kinds),
    what: z.string().check(z.describe("What it is about, such as `account vapi`")),
    account: z.nullable(z.string()),
    clients: z
      .array(z.string())
      .check(z.describe(`Clients whose calls it holds, at most ${clientsMax}`)),
    calls: z
      .nullable(z.int())
      .check(z.describe("Calls that it holds, or that a person must decide; null: not known")),
    calls_max: z
      .nullable(z.int())
      .check(z.describe("Where `calls` ended counting; null: all were counted")),
    since: z.nullable(time),
    code: z.nullable(z.string()).check(z.describe("Our code, never a provider's text")),
    means: z.string(),
    fix: z.string(),
    resume: z
      .nullable(
        z.strictObject({
          breaker: z.optional(z.string()),
          agent_id: z.optional(z.string()),
          account: z.optional(z.string()),
          client: z.optional(z.string()),
        }),
      )
      .check(
        z.describe("Body of `POST /operator/resume` that ends it; null: nothing of that kind"),
      ),
  })
  .check(z.meta({ id: "Need" }));
export type Need = z.infer<typeof needSchema>;

/** A need without a count of its held calls. `holder`: its name among the holders of waiting calls. */
export type Found = Need & { holder?: string };

/** A need as its part knows it. What is left out is null. */
type KnownNeed = Pick<Need, "id" | "kind" | "what" | "means" | "fix"> & Partial<Found>;

const finders: Readonly<Record<Part, (deps: RouteDeps) => Promise<KnownNeed[]>>> = {
  breakers: async (deps) => findBreakerNeeds(await listOf("breaker", deps), deps),
  pauses: findPauses,
  review: findReviews,
  events: findExhausted,
  dead_letters: findLetterNeeds,
  ledger: findLedgerNeeds,
  pools: findPools,
};

/** Finds the needs of a part. @throws if it cannot be read */
export async function findNeeds(part: Part, deps: RouteDeps): Promise<Found[]> {
  return (await finders[part](deps)).map(toNeed);
}

/** Completes a need. */
export function toNeed(of: KnownNeed): Found {
  const unknown = { account: null, clients: [], calls: null, calls_max: null };
  return { ...unknown, since: null, code: null, resume: null, ...of };
}

async function listOf<K extends Kind>(kind: K, deps: RouteDeps): Promise<StoredDocument<K>[]> {
  const found: StoredDocument<K>[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const listed = await deps.documents.list(kind, { after, limit: pageDocuments });
    found.push(...listed.filter(isReadable));
    if (listed.length < pageDocuments) break;
    after = listed.at(-1)?.key;
  }
  return found;
}

async function findPauses(deps: RouteDeps): Promise<KnownNeed[]> {
  return (await listOf("pause", deps)).map(({ key, value: { of, at, by, reason, until } }) => {
    const [[kind, name] = ["", ""]] = Object.entries<string>(of);
    return {
      id: `pause ${key} ${at}`,
      kind: "pause",
      what: `${kind} ${name}`,
      account: kind === "account" ? name : null,
      clients: kind === "client" ? [name] : [],
      since: toIsoTime(at),
      resume: { [kind === "agent" ? "agent_id" : kind]: name },
      holder: `paused ${kind} ${name}`,
      ...(by === "system" ? textsOf.systemPause : pauseTexts({ reason, until })),
    };
  });
}

/** Describes an operator's pause, with the operator's reason and its end. */
function pauseTexts({ reason, until }: Pick<ValueOf<"pause">, "reason" | "until">): Texts {
  const { means, fix } = textsOf.pause;
  const why = reason === undefined ? "" : ` The reason: ${reason}.`;
  const end = until === undefined ? "" : ` It ends by itself at ${toIsoTime(until)}.`;
  return { means: means + why + end, fix };
}

/** Pages of calls that need review that are read beyond those of test calls. */
const reviewPagesMax = 10;

/** Returns the oldest calls that wait for a decision. Test calls, which often nobody decides, never hide the others. */
async function readReviews({
  ledger,
}: RouteDeps): Promise<{ rows: CallRow[]; next: string | undefined }> {
  const rows: CallRow[] = [];
  let next: string | undefined;
  for (let page = 0; page < reviewPagesMax; page++) {
    const query = { state: "NEEDS_REVIEW", after: next, limit: reviewedMax } as const;
    const listed = await ledger.listOldest(query);
    rows.push(...listed.rows);
    ({ next } = listed);
    const isFull = rows.filter(({ mode }) => mode === "live").length >= reviewedMax;
    if (next === undefined || isFull) break;
  }
  return { rows, next };
}

/** Finds calls that wait for a decision, by their account and reason: the oldest, as the review shows them. */
async function findReviews(deps: RouteDeps): Promise<KnownNeed[]> {
  const { rows, next } = await readReviews(deps);
  const accountOf = ({ route }: CallRow) => route?.account ?? null;
  const groups = Map.groupBy(rows, (row) => JSON.stringify([accountOf(row), row.reason]));
  return [...groups].flatMap(([key, own]) => {
    const [one] = own;
    if (one === undefined) return [];
    const account = accountOf(one);
    const clients = [...new Set(own.map(({ client }) => client))].toSorted();
    return {
      id: `review ${key}`,
      kind: "review",
      what: "calls to review",
      account,
      clients: clients.slice(0, clientsMax),
      calls: own.length,
      calls_max: next === undefined ? null : own.length,
      since: toIsoTime(Math.min(...own.map(({ updatedAt }) => updatedAt))),
      code: one.reason,
      ...reviewTexts(one.reason),
    };
  });
}

async function findExhausted(deps: RouteDeps): Promise<KnownNeed[]> {
  const { events = {} } = deps.plan;
  const receivers = Object.entries(events).map(([name, receiver]) => ({ name, ...receiver }));
  const views = await viewsOf(receivers, deps);
  return views
    .filter((one) => one.exhausted_calls > 0)
    .map(({ name, exhausted_calls: calls }) => ({
      id: `events ${name}`,
      kind: "events",
      what: `receiver ${name}`,
      clients: name === "*" ? [] : [name],
      calls,
      calls_max: calls >= 100 ? calls : null,
      ...textsOf.events,
    }));
}

/** Finds agents of which all numbers rest. */
async function findPools({ settings, documents, clock }: RouteDeps): Promise<KnownNeed[]> {
  const { along } = createResolver(settings.table, () => undefined);
  const agents = Object.entries(settings.plan.agents).map(([agentId, route]) => {
    const target = along(route, { client: "", agentId });
    return { agentId, route, target, keys: poolKeys({ target }) };
  });
  const pooled = agents.filter(({ keys }) => keys.length > 0);
  if (pooled.length === 0) return [];
  const read = await documents.read(distinctKeys(pooled.flatMap(({ keys }) => keys)));
  const at = { documents: read, now: clock.now() };
  return pooled.flatMap(({ agentId, route, target }) =>
    poolHolders(target, at).map(({ reason, name }) => ({
      id: `pool ${agentId}`,
      kind: "pool",
      what: `agent ${agentId}`,
      account: accountNameOf(route),
      holder: `${reason} ${name}`,
      ...textsOf.pool,
    })),
  );
}
