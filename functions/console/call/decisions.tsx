import { useState } from "preact/hooks";
import { states } from "#shared/calls/states.ts";
import type { CallDetail, Redialed } from "#shared/answers/answers.ts";
import { CancelCall, RedialCall } from "./call-buttons.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { type Decision, decisions } from "../parts/decision.ts";
import { useDesk } from "../parts/desk.tsx";
import { usePending } from "../parts/pending.tsx";

/** Asks before a redial, as the phone rings a second time if the first call was placed. */
export function ConfirmRedial({ act, close }: { act(): void; close(): void }) {
  return (
    <Confirm
      title="Call this number again?"
      yes="Call again"
      no="Do not call"
      act={act}
      close={close}
    >
      <p>If the first call was placed after all, the person is called twice.</p>
    </Confirm>
  );
}

/** Buttons for the actions that the call's state allows. */
export function Actions({ call }: { call: CallDetail }) {
  const { ask, attempt } = useDesk();
  const [isAsking, setIsAsking] = useState(false);
  const path = `/calls/${encodeURIComponent(call.id)}`;
  const redial = () =>
    attempt(async () => {
      const made = await ask<Redialed>(`${path}/redial`, {});
      return `The call is made again as ${made.id}.`;
    });
  const { decided, take } = usePending();
  const chosen = (decision: Decision) => take(call, decision);
  const { actions } = states[call.state];
  const mayResolve = actions.includes("resolve");
  if (mayResolve && decided.has(call.id)) return <p class="hint">It is decided: see below.</p>;
  return (
    <div class="line">
      {mayResolve ? (
        <>
          <button type="button" onClick={() => chosen("placed")}>
            {decisions.placed.label}
          </button>
          <button type="button" class="grave" onClick={() => setIsAsking(true)}>
            {decisions.redial.label}
          </button>
          <button type="button" onClick={() => chosen("close")}>
            {decisions.close.label}
          </button>
        </>
      ) : null}
      {actions.includes("redial") && !mayResolve ? <RedialCall call={call} /> : null}
      {call.state === "REDIALED" ? (
        <button type="button" onClick={redial}>
          Send the new call again
        </button>
      ) : null}
      {actions.includes("cancel") ? <CancelCall call={call} /> : null}
      {isAsking ? (
        <ConfirmRedial act={() => chosen("redial")} close={() => setIsAsking(false)} />
      ) : null}
    </div>
  );
}
