import type { CallDetail, Redialed } from "#shared/answers/answers.ts";
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { useDesk } from "../parts/desk.tsx";
import { Reason, Time } from "../parts/shared.tsx";

/** Says whose call it is: the one call that a question is about. */
function Whose({ call: { client, agent_id, number_tail } }: { call: CallDetail }) {
  return (
    <p>
      One call of client <b>{client}</b> through {agent_id}, to …{number_tail}.
    </p>
  );
}

/** Asks before it cancels a waiting call. */
export function CancelCall({ call }: { call: CallDetail }) {
  const { ask, attempt } = useDesk();
  const [isAsking, setIsAsking] = useState(false);
  const cancel = async () => {
    await ask(`/calls/${encodeURIComponent(call.id)}/cancel`, {});
    attempt(async () => "Cancelled.");
  };
  return (
    <>
      <button type="button" onClick={() => setIsAsking(true)}>
        Cancel this call
      </button>
      {isAsking ? (
        <Confirm
          title="Cancel this call?"
          yes="Cancel the call"
          no="Let it wait"
          act={cancel}
          close={() => setIsAsking(false)}
        >
          <Whose call={call} />
          <p>
            It waits{call.due_at === null ? "" : ", due "}
            <Time at={call.due_at} />. Once cancelled, it is never made: Call again makes a new
            call.
          </p>
        </Confirm>
      ) : null}
    </>
  );
}

/** Asks before it makes a call again that has ended without being placed. */
export function RedialCall({ call }: { call: CallDetail }) {
  const { ask, attempt } = useDesk();
  const [isAsking, setIsAsking] = useState(false);
  const redial = async () => {
    const made = await ask<Redialed>(`/calls/${encodeURIComponent(call.id)}/redial`, {});
    attempt(async () => `The call is made again as ${made.id}.`);
  };
  return (
    <>
      <button type="button" onClick={() => setIsAsking(true)}>
        Call again …
      </button>
      {isAsking ? (
        <Confirm
          title="Call this number again?"
          yes="Call again"
          no="Do not call"
          act={redial}
          close={() => setIsAsking(false)}
        >
          <Whose call={call} />
          <p>
            <Reason code={call.reason} />
          </p>
          <p>A new call is made within the hours and caps of today's plan: the phone rings.</p>
        </Confirm>
      ) : null}
    </>
  );
}
