import type { CallView } from "#shared/answers/answers.ts";
import { sayReason } from "#shared/rules/texts.ts";
import { useBulk } from "../parts/bulk.tsx";
import { type Decision, decisionNames, decisions } from "../parts/decision.ts";

/** Calls of one agent that need review for one reason. */
interface Group {
  agent: string;
  reason: string;
  count: number;
}

/** Returns the groups of calls of the same agent and reason, the largest first. */
function groupsOf(calls: readonly CallView[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { agent_id: agent, reason } of calls) {
    const key = JSON.stringify([agent, reason]);
    const { count } = groups.get(key) ?? { count: 0 };
    groups.set(key, { agent, reason, count: count + 1 });
  }
  return [...groups.values()].toSorted((one, other) => other.count - one.count);
}

/** Decisions about all calls of an agent that need review for one reason. The operator types their number to confirm. */
export function BulkReview({ calls, hasMore }: { calls: readonly CallView[]; hasMore: boolean }) {
  const bulk = useBulk();
  const choose = ({ agent, reason }: Group, action: Decision) =>
    bulk.begin({
      action,
      filter: { state: "NEEDS_REVIEW", agent_id: agent, reason },
      label: decisions[action].label,
      what: `of ${agent}: ${sayReason(reason)}`,
    });
  return (
    <section class="card" aria-labelledby="bulk">
      <h3 id="bulk">Decide many calls at once</h3>
      {bulk.view}
      <ul class="rows">
        {groupsOf(calls).map((group) => (
          <GroupRow
            key={JSON.stringify(group)}
            group={group}
            isBusy={bulk.isBusy}
            choose={(decision) => choose(group, decision)}
          />
        ))}
      </ul>
      {hasMore ? (
        <p class="hint">
          These are the oldest {calls.length}. A decision counts all calls of the agent and reason
          first.
        </p>
      ) : null}
    </section>
  );
}

/** A group of calls, with a button for each decision. */
function GroupRow({
  group: { agent, reason, count },
  isBusy,
  choose,
}: {
  group: Group;
  isBusy: boolean;
  choose(decision: Decision): void;
}) {
  const name = `${agent}: ${sayReason(reason)}`;
  return (
    <li>
      <span>
        <b>{count}</b> of {name}
      </span>
      <span class="line">
        {decisionNames.map((decision) => (
          <button
            key={decision}
            type="button"
            class={decision === "redial" ? "grave" : undefined}
            aria-label={`${decisions[decision].label}: all ${count} of ${name}`}
            disabled={isBusy}
            onClick={() => choose(decision)}
          >
            {decisions[decision].label}
          </button>
        ))}
      </span>
    </li>
  );
}
