import type { Context } from "hono";
import { throttles } from "#shared/policy/breaker-causes.ts";
import type { Documents } from "#shared/ports/documents.ts";
import {
  type BreakerCause,
  breakerCauses,
  type StoredDocument,
  type ValueOf,
} from "#shared/ports/document-kinds.ts";
import { numbersBlamed, refusalsOf, readRefusals } from "#shared/policy/breakers.ts";
import { toShellWord } from "#shared/lib/shell-word.ts";
import { hourMs } from "#shared/lib/units.ts";
import * as z from "#shared/lib/zod.ts";
import { unprobed } from "#shared/rules/gates.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { time, toIsoTime } from "../api/http/fields.ts";
import { UnreachableError } from "../api/http/port-limits.ts";
import { answerProblem } from "../api/http/problem.ts";
import { codeMeaning, type Texts } from "./need-texts.ts";
import { removeDocuments } from "#shared/ports/remove-documents.ts";

/** Maximum tries to close a breaker that dialers change meanwhile. */
const tries = 3;

/** Subjects of circuit breakers. */
const breakerKinds = ["account", "backlog", "receiver", "check"] as const;
type BreakerKind = (typeof breakerKinds)[number];

/** An open circuit breaker, as answers show it. */
export const breakerViewSchema = z.strictObject({
  key: z.string(),
  kind: z.enum(breakerKinds),
  name: z
    .string()
    .check(
      z.describe(
        "The account, the client and agent of a backlog, the receiver of events, or the check",
      ),
    ),
  client: z.optional(z.string()).check(z.describe("Of a backlog: its client and agent")),
  agent_id: z.optional(z.string()),
  cause: z.enum(breakerCauses),
  state: z
    .enum(["open", "half_open"])
    .check(z.describe("open: one call at a time probes it. half_open: few calls go at once")),
  code: z.string(),
  opened_at: time,
  probe_at: time,
  failures: z
    .nullable(
      z.union([
        z.strictObject({ unreachable: z.int(), in_row: z.int() }),
        z.strictObject({
          refusals: z.record(z.string(), z.int()),
          countries: z
            .record(z.string(), z.int())
            .check(z.describe("Those refusals by the countries of their numbers")),
        }),
      ]),
    )
    .check(
      z.describe("Failed requests, or a backlog's refusals by code; null where none are counted"),
    ),
});
type BreakerView = z.infer<typeof breakerViewSchema>;

/** Returns the views of the open and half-open circuit breakers among these. */
export async function listBreakerViews(
  breakers: readonly StoredDocument<"breaker">[],
  documents: Documents,
): Promise<BreakerView[]> {
  const current = breakers.filter(({ value }) => value.state !== "closed");
  if (current.length === 0) return [];
  const counted = await documents.read(current.flatMap(({ key }) => counterKeysOf(key)));
  return current.flatMap(({ key, value }): BreakerView[] => {
    const { state, cause, code, openedAt, probeAt } = value;
    const kind = breakerKinds.find((one) => key.startsWith(`${one}:`));
    if (kind === undefined || state === "closed") return [];
    const name = key.slice(kind.length + 1);
    return [
      {
        key,
        kind,
        ...namesIn(kind, name),
        cause,
        state,
        code,
        opened_at: toIsoTime(openedAt),
        probe_at: toIsoTime(probeAt),
        failures:
          failuresView(counted.get("counters", key)?.value) ??
          refusalsView(counted.get("counters", `${key} ${suffix}`)?.value, value),
      },
    ];
  });
}

/** Names the counters of a breaker. */
function counterKeysOf(key: string) {
  return [key, `${key} ${suffix}`].map((one) => ({ kind: "counters", key: one }) as const);
}

/** Suffix of the key under which a backlog's refusals are counted. */
const suffix = refusalsOf({ client: "", agentId: "" }).split(" ").at(-1);

function namesIn(kind: BreakerKind, name: string) {
  if (kind !== "backlog") return { name };
  const [client = "", agent_id = ""]: string[] = JSON.parse(name);
  return { name: `${client}, ${agent_id}`, client, agent_id };
}

/** Returns a breaker's numbers of failed requests; null after a reset. Accounts count only those in a row. */
function failuresView({ unreachable = 0, inRow = 0 }: ValueOf<"counters"> = {}) {
  return inRow === 0 ? null : { unreachable: Math.max(unreachable, inRow), in_row: inRow };
}

/** Returns a backlog's refusals. The breaker itself counts those by its code for as long as it is open. */
function refusalsView(
  counters: ValueOf<"counters"> | undefined,
  { code, refused = 0 }: Pick<ValueOf<"breaker">, "code" | "refused">,
) {
  if (counters === undefined && refused === 0) return null;
  const { refusals: byCode, countries, numbers } = readRefusals(counters ?? {});
  const all: Record<string, number> = {
    ...byCode,
    ...(numbers > 0 ? { [numbersBlamed]: numbers } : {}),
  };
  const count = Math.max(all[code] ?? 0, refused);
  if (count > 0) all[code] = count;
  return Object.keys(all).length === 0 ? null : { refusals: all, countries };
}

/** Closes a breaker and resets its counters, as a successful probe would. */
export async function closeBreaker(
  c: Context<ApiEnv>,
  key: string,
  deps: RouteDeps,
): Promise<{ breaker: string } | Response> {
  const { documents } = deps;
  const breakerKey = { kind: "breaker", key } as const;
  const breaker = (await documents.read([breakerKey])).get("breaker", key);
  if (breaker === undefined || breaker.value.state === "closed") {
    return answerProblem(c, 404, { detail: "There is no breaker of this key." });
  }
  await recordAction(c, { action: "resume", target: `breaker ${key}` }, deps);
  // Dialers may change both at any time. The breaker is closed even then.
  for (let tried = 0; tried < tries; tried++) {
    if (await removeDocuments([breakerKey, ...counterKeysOf(key)], documents))
      return { breaker: key };
  }
  throw new UnreachableError("a breaker was changed by others each time");
}

/** Returns the needs of open breakers, except of those by which a provider only slows calls down. */
export async function findBreakerNeeds(
  breakers: readonly StoredDocument<"breaker">[],
  { documents, settings }: Pick<RouteDeps, "documents" | "settings">,
) {
  const views = await listBreakerViews(breakers, documents);
  const { expireAfterHours } = settings.plan;
  return views
    .filter(({ cause }) => !throttles.has(cause))
    .map((view) => {
      const { key, kind, name, client, code, opened_at } = view;
      return {
        id: `breaker ${key}`,
        kind: "breaker",
        what: kind === "backlog" ? `client and agent ${name}` : `${kind} ${name}`,
        account: kind === "account" ? name : null,
        clients: client === undefined ? [] : [client],
        since: opened_at,
        code,
        resume: { breaker: key },
        ...(kind === "receiver" ? {} : { holder: `${unprobed.reason} ${key}` }),
        ...textsOf(view, expireAfterHours),
      } as const;
    });
}

function textsOf(view: BreakerView, expireAfterHours: number): Texts {
  const { means, fix } =
    view.cause === "calls_refused" ? refusedTexts(view, expireAfterHours) : causeTexts[view.cause];
  const meaning = codeMeaning(view.code);
  return { means: meaning === "" ? means : `${means} The code says: ${meaning}.`, fix };
}

/**
 * Says how many calls were refused, and how the calls that were rejected by it are redialed. Calls of earlier refusals with the
 * same code are left out: they may have been posted again since.
 */
function refusedTexts(
  { code, failures, client = "", agent_id = "", opened_at }: BreakerView,
  expireAfterHours: number,
): Texts {
  const { means, fix } = causeTexts.calls_refused;
  const refusals = failures !== null && "refusals" in failures ? failures.refusals : {};
  const all = Object.values(refusals).reduce((sum, one) => sum + one, 0);
  const count = refusals[code] ?? all;
  const refused = count === 0 ? "" : ` ${count} calls were refused.`;
  // Numbers that were blamed one by one have their own codes.
  const reason = code === numbersBlamed ? "" : ` --reason ${code}`;
  // Calls that were accepted earlier had expired by then.
  const from = toIsoTime(Date.parse(opened_at) - expireAfterHours * hourMs);
  const of = `--client ${toShellWord(client)} --agent ${toShellWord(agent_id)} --from ${from}`;
  const redial = `npm run calls -- redial --state REJECTED${reason} ${of}`;
  return { means: means + refused, fix: `${fix} Then redial those that were refused: ${redial}` };
}

const byThemselves = "Its calls are probed again by themselves; nothing is lost.";

/** Words for the causes of circuit breakers. */
const causeTexts: Readonly<Record<BreakerCause, Texts>> = {
  unreachable: {
    means: "The provider does not answer in time, or cannot be reached.",
    fix: `Look at the provider's status page. ${byThemselves}`,
  },
  busy: { means: "The provider accepts no call at this moment.", fix: byThemselves },
  full: { means: "The account has reached its maximum of live calls.", fix: byThemselves },
  account_refused: {
    means: "The provider refuses the account, and would refuse every other call.",
    fix: "Check the account's secrets, balance and state in the provider's console, then resume.",
  },
  agent_refused: {
    means:
      "The provider refuses a part of the agent's route, and would refuse every other call along it.",
    fix: "Compare the agent's route in the dial plan with the provider's console, then resume.",
  },
  calls_refused: {
    means: "The provider refuses call after call of this client and agent, to different numbers.",
    fix: "Check the list of numbers, and whether the account may call their countries.",
  },
  receiver: {
    means: "The receiver of events does not take them. They wait in the ledger.",
    fix: "Look at the receiver's own log. It is tried again by itself.",
  },
  check: {
    means: "The check before calls gives no valid answer, so the calls of its agents wait.",
    fix: "Look at the check's own log. It is asked again by itself.",
  },
  other: {
    means: "A later version has stopped these calls, for a cause that this version does not know.",
    fix: `Deploy that version again. ${byThemselves}`,
  },
};
