import { useState } from "preact/hooks";
import { callStates, states } from "#shared/calls/states.ts";
import type { BulkAction } from "#shared/answers/answers.ts";
import { chosenBy } from "../data/chosen-calls.ts";
import { bulkActions, useBulk } from "../parts/bulk.tsx";
import { AskPause, type Pausable, useResume } from "../parts/pause.tsx";
import { stateText } from "../parts/shared.tsx";

type Filter = Readonly<Record<string, string>>;

/** Actions on all calls that the filter of the list shows. */
export function BulkCalls({ filter, number }: { filter: Filter; number: string }) {
  const bulk = useBulk();
  const { fields, what } = chosenBy(filter);
  const { state = "", ...others } = fields;
  const actions = actionsFor(state);
  return (
    <details>
      <summary>Act on all of these …</summary>
      {number !== "" ? (
        <p class="hint">Clear the number first: this is for filters without a number.</p>
      ) : Object.keys(fields).length === 0 ? (
        <p class="hint">Choose a state, or fill in the filter, first.</p>
      ) : (
        <>
          <p class="line">
            {actions.map((action) => (
              <button
                key={action}
                type="button"
                class={action === "placed" || action === "close" ? undefined : "grave"}
                disabled={bulk.isBusy}
                onClick={() =>
                  bulk.begin({ action, filter: fields, label: bulkActions[action].label, what })
                }
              >
                {bulkActions[action].label} …
              </button>
            ))}
            <Pauses fields={others} />
          </p>
          {actions.length === 0 ? (
            <p class="hint">
              {state === ""
                ? "Choose a state to see what can be done."
                : `Nothing can be done with calls that are ${stateText(stateOf(state)).toLowerCase()}.`}
            </p>
          ) : null}
          {bulk.view}
        </>
      )}
    </details>
  );
}

function stateOf(text: string) {
  return callStates.find((one) => one === text) ?? "WAITING";
}

/** Returns the actions for calls in a state. Each action has its button; the most harmful one is last. */
function actionsFor(state: string): BulkAction[] {
  const known = callStates.find((one) => one === state);
  const allowed: readonly string[] = known === undefined ? [] : states[known].actions;
  return [
    ...(allowed.includes("resolve") ? (["placed", "close"] as const) : []),
    ...(allowed.includes("redial") ? (["redial"] as const) : []),
    ...(allowed.includes("cancel") ? (["cancel"] as const) : []),
  ];
}

/** Names of what can be paused, by the fields of the filter. */
const paused = { agent_id: "agent", account: "account", client: "client" } as const;

/** Buttons that pause and resume the one agent, account or client that the filter names alone. */
function Pauses({ fields }: { fields: Filter }) {
  const resume = useResume();
  const [isAsking, setIsAsking] = useState(false);
  const [first, ...more] = Object.entries(fields);
  const [field, name] = first ?? ["", ""];
  const kind = Object.entries(paused).find(([one]) => one === field)?.[1];
  if (kind === undefined || more.length > 0) return null;
  const what: Pausable = { [kind === "agent" ? "agent_id" : kind]: name };
  return (
    <>
      <button type="button" onClick={() => setIsAsking(true)}>
        Pause {kind} {name} …
      </button>
      <button type="button" onClick={() => resume(what)}>
        Resume {kind} {name}
      </button>
      {isAsking ? <AskPause what={what} close={() => setIsAsking(false)} /> : null}
    </>
  );
}
