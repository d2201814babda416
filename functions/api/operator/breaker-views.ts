import type { DialPlan } from "../../../shared/dial-plan/plan-schema.ts";
import type { Documents, StoredDocument } from "../../../shared/documents/documents.ts";
import type { ValueOf } from "../../../shared/documents/kinds.ts";
import { breakerKeysOf } from "../../../shared/documents/breakers.ts";
import * as z from "../../../shared/platform/zod.ts";
import { time, timeOf } from "./fields.ts";

/** Subjects of circuit breakers. */
const breakerKinds = ["account", "route", "agent", "receiver"] as const;
type BreakerKind = (typeof breakerKinds)[number];

/** An open circuit breaker, as answers show it. */
export const breakerViewSchema = z.strictObject({
  key: z.string(),
  kind: z.enum(breakerKinds),
  name: z
    .string()
    .check(z.describe("The account, the agent or the receiver of events; of a route a hash")),
  code: z.string(),
  opened_at: time,
  probe_at: time,
  failures: z
    .nullable(
      z.union([
        z.strictObject({ unanswered: z.int(), in_row: z.int() }),
        z.strictObject({ refusals: z.record(z.string(), z.int()) }),
      ]),
    )
    .check(
      z.describe(
        "An account's or a receiver's failures, or an agent's refusals by code; null where none are counted",
      ),
    ),
  agents: z
    .optional(z.array(z.string()))
    .check(
      z.describe(
        "Of a route: its agents in today's plan; `*` stands for all that the plan does not name",
      ),
    ),
});
export type BreakerView = z.infer<typeof breakerViewSchema>;

/** Returns the views of the open circuit breakers among these. */
export async function viewsOfOpen(
  breakers: readonly StoredDocument<"breaker">[],
  plan: DialPlan,
  documents: Documents,
): Promise<BreakerView[]> {
  const open = breakers.filter(({ value }) => value.state === "open");
  if (open.length === 0) return [];
  const counted = await documents.read(open.map(({ key }) => ({ kind: "failures", key }) as const));
  return open.flatMap(({ key, value: { code, openedAt, probeAt } }) => {
    const kind = breakerKinds.find((one) => key.startsWith(`${one}:`));
    if (kind === undefined) return [];
    const view = {
      key,
      kind,
      name: key.slice(kind.length + 1),
      code,
      opened_at: timeOf(openedAt),
      probe_at: timeOf(probeAt),
      failures: failuresView(kind, counted.get("failures", key)?.value),
    };
    return kind === "route" ? { ...view, agents: agentsOfRoute(key, plan) } : view;
  });
}

/** Returns a breaker's counters; null if they are reset or have expired, and for a route, which has none. */
function failuresView(
  kind: BreakerKind,
  counters: ValueOf<"failures"> = {},
): BreakerView["failures"] {
  if (kind === "route" || Object.keys(counters).length === 0) return null;
  if (kind === "agent") return { refusals: counters };
  const { unanswered = 0, inRow = 0 } = counters;
  return { unanswered, in_row: inRow };
}

/** Returns the agents of the plan whose route has this breaker. Its key is a hash, which tells people nothing. */
function agentsOfRoute(key: string, { agents }: DialPlan): string[] {
  return Object.entries(agents).flatMap(([agent, route]) =>
    breakerKeysOf(agent, route).some((one) => one.kind === "breaker" && one.key === key)
      ? agent
      : [],
  );
}
