import { useState } from "preact/hooks";
import type { CallView } from "../api/operator/call-view.ts";
import { Confirm } from "./confirm.tsx";
import { decide, type Decision, decisionNames, decisions } from "./decision.ts";
import { messageOf, useDesk } from "./desk.tsx";

/** Calls of one agent that need review for one reason. */
interface Group {
  name: string;
  calls: CallView[];
}

/** Returns the groups of calls of the same agent and reason, the largest first. */
function groupsOf(calls: readonly CallView[]): Group[] {
  const groups = new Map<string, CallView[]>();
  for (const call of calls) {
    const name = `${call.agent_id}, ${call.reason}`;
    groups.set(name, [...(groups.get(name) ?? []), call]);
  }
  return [...groups]
    .map(([name, grouped]) => ({ name, calls: grouped }))
    .toSorted((one, other) => other.calls.length - one.calls.length);
}

/** Decisions about all calls of an agent that need review for one reason. The operator types their number to confirm. */
export function BulkReview({ calls, hasMore }: { calls: readonly CallView[]; hasMore: boolean }) {
  const { ask, attempt, say } = useDesk();
  const [asked, setAsked] = useState<{ group: Group; decision: Decision }>();
  const carryOut = ({ group, decision }: { group: Group; decision: Decision }) =>
    attempt(async () => {
      const failed: string[] = [];
      for (const [index, call] of group.calls.entries()) {
        // If one call is refused, as after somebody else's decision, the others are still decided.
        await decide(ask, call.id, decision).catch((error: unknown) =>
          failed.push(messageOf(error)),
        );
        if (index % 10 === 9) say(`${index + 1} of ${group.calls.length} done …`);
      }
      const done = `${group.calls.length - failed.length} calls decided: ${decisions[decision].label}.`;
      return failed.length === 0 ? done : `${done} ${failed.length} were refused: ${failed[0]}`;
    });
  return (
    <section class="card" aria-labelledby="bulk">
      <h3 id="bulk">Decide many calls at once</h3>
      <ul class="rows">
        {groupsOf(calls).map((group) => (
          <GroupRow
            key={group.name}
            group={group}
            choose={(decision) => setAsked({ group, decision })}
          />
        ))}
      </ul>
      {hasMore ? (
        <p class="hint">
          These are the oldest {calls.length}; the others follow when they are decided.
        </p>
      ) : null}
      {asked === undefined ? null : (
        <Confirm
          title={`${decisions[asked.decision].label}: all ${asked.group.calls.length} of ${asked.group.name}?`}
          yes={`Decide ${asked.group.calls.length} calls`}
          count={asked.group.calls.length}
          act={() => carryOut(asked)}
          close={() => setAsked(undefined)}
        >
          {asked.decision === "redial" ? (
            <p>Each number is called again, even if the first call was placed after all.</p>
          ) : null}
        </Confirm>
      )}
    </section>
  );
}

/** A group of calls, with a button for each decision. */
function GroupRow({ group, choose }: { group: Group; choose(decision: Decision): void }) {
  return (
    <li>
      <span>
        <b>{group.calls.length}</b> of {group.name}
      </span>
      <span class="line">
        {decisionNames.map((name) => (
          <button
            key={name}
            type="button"
            class={name === "redial" ? "grave" : undefined}
            aria-label={`${decisions[name].label}: all ${group.calls.length} of ${group.name}`}
            onClick={() => choose(name)}
          >
            {decisions[name].label}
          </button>
        ))}
      </span>
    </li>
  );
}
