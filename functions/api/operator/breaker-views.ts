import type { DialPlan } from "../../../shared/dial-plan/dial-plan.ts";
import type { Documents, StoredDocument } from "../../../shared/documents/documents.ts";
import type { ValueOf } from "../../../shared/documents/kinds.ts";
import { breakerKeysOf } from "../../../shared/documents/breakers.ts";
import { timeOf } from "./call-views.ts";
import { breakerKinds } from "./schemas.ts";

type BreakerKind = (typeof breakerKinds)[number];

/** The open ones of these circuit breakers as they are shown, with what is counted against each. */
export async function viewsOfOpen(
  breakers: readonly StoredDocument<"breaker">[],
  plan: DialPlan,
  documents: Documents,
) {
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

/** What the counters of a breaker say; null where they are reset or have expired, and of routes, which have none. */
function failuresView(kind: BreakerKind, counters: ValueOf<"failures"> = {}) {
  if (kind === "route" || Object.keys(counters).length === 0) return null;
  if (kind === "agent") return { refusals: counters };
  const { unanswered = 0, inRow = 0 } = counters;
  return { unanswered, in_row: inRow };
}

/** The agents of the plan whose route has this breaker: its key is a hash, which tells a person nothing. */
function agentsOfRoute(key: string, { agents }: DialPlan): string[] {
  return Object.entries(agents).flatMap(([agent, route]) =>
    breakerKeysOf(agent, route).some((one) => one.kind === "breaker" && one.key === key)
      ? agent
      : [],
  );
}
