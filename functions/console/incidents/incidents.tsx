import { useState } from "preact/hooks";
import type { AnswerOf, Events, Replayed } from "#shared/answers/answers.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Ask, Shown, useDesk, useLive, WithRole } from "../parts/desk.tsx";
import {
  counted,
  countText,
  Fact,
  MoreByCommand,
  Reason,
  Table,
  textIn,
  Time,
  zoneText,
} from "../parts/shared.tsx";

type DeadLetterDetail = AnswerOf<"showDeadLetter">;
type DeadLetterList = AnswerOf<"listDeadLetters">;
type RestoreView = AnswerOf<"showRestore">;
type RevealedDeadLetter = AnswerOf<"revealDeadLetter">;

const refreshMs = 30_000;
const dayMs = 86_400_000;
/** Days before now of which events are replayed. */
const replayedDays = 7;

/** The trouble beside calls: events that were not delivered, dead letters, and a restored ledger. */
export function Incidents() {
  return (
    <>
      <Receivers />
      <DeadLetters />
      <Restore />
    </>
  );
}

/** Has the exhausted events of a client's last days delivered again. Resolves to a message. */
async function replayAll(client: string, ask: Ask): Promise<string> {
  const now = Date.now();
  const range = {
    from: new Date(now - replayedDays * dayMs).toISOString(),
    until: new Date(now).toISOString(),
  };
  let replayed = 0;
  let cursor: string | undefined;
  do {
    const place = cursor === undefined ? {} : { cursor };
    const filter = { client, ...range, exhausted: true, ...place };
    const answer: Replayed = await ask("/events/replay", filter);
    replayed += answer.replayed;
    cursor = answer.cursor;
  } while (cursor !== undefined);
  return `${counted(replayed, "event")} will be delivered again, at the receiver's pace.`;
}

function Receivers() {
  const { ask, attempt } = useDesk();
  const live = useLive<Events>("/events", refreshMs);
  const replay = (client: string) => attempt(() => replayAll(client, ask));
  return (
    <section class="card" aria-labelledby="receivers">
      <h3 id="receivers">Events</h3>
      <Shown live={live} what="The receivers">
        {({ receivers, exhausted_max: most }) =>
          receivers.length === 0 ? (
            <p>
              The dial plan has no receiver of events: <code>events</code> names one.
            </p>
          ) : (
            <Table
              label="Receivers of events"
              columns={[
                "Receiver",
                "Calls with exhausted events",
                "Replay",
                "Circuit breaker",
                "Oldest event due",
                "Origin",
              ]}
            >
              {receivers.map(({ name, origin, breaker, oldest_due_at, exhausted_calls: calls }) => (
                <tr key={name}>
                  <th scope="row">{name === "*" ? "every other client" : name}</th>
                  <td class="figure">{countText(calls, most)}</td>
                  <td>
                    {calls === 0 || name === "*" ? null : (
                      <WithRole role="decide">
                        <button type="button" onClick={() => replay(name)}>
                          Replay {replayedDays} days <span class="unseen">of {name}</span>
                        </button>
                      </WithRole>
                    )}
                  </td>
                  <td class="texts">
                    {breaker === null ? "closed" : <Reason code={breaker.code} />}
                  </td>
                  <td>{oldest_due_at === null ? "none" : <Time at={oldest_due_at} />}</td>
                  <td>{origin}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  );
}

function DeadLetters() {
  const { ask, attempt } = useDesk();
  const live = useLive<DeadLetterList>("/dead-letters", refreshMs);
  const [discarding, setDiscarding] = useState<string>();
  const [shown, setShown] = useState<{ name: string; revealed: RevealedDeadLetter }>();
  const reveal = (name: string) =>
    attempt(async () => {
      const path = `/dead-letters/${encodeURIComponent(name)}/reveal`;
      setShown({ name, revealed: await ask<RevealedDeadLetter>(path, {}) });
      return "Shown, and recorded in the audit log.";
    });
  return (
    <section class="card" aria-labelledby="letters">
      <h3 id="letters">Dead letters</h3>
      <Shown live={live} what="The dead letters">
        {({ dead_letters: letters, cursor }) =>
          letters.length === 0 ? (
            <p>There is none: no message has failed a hundred times.</p>
          ) : (
            <>
              <Table
                label="List of dead letters"
                columns={["Message", "Put back", "Queue", "Stored", "Bytes"]}
              >
                {letters.map(({ name, queue, stored_at, bytes }) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>
                      <LetterActs name={name} reveal={reveal} discard={setDiscarding} />
                    </td>
                    <td>{queue}</td>
                    <td>
                      <Time at={stored_at} />
                    </td>
                    <td class="figure">{countText(bytes)}</td>
                  </tr>
                ))}
              </Table>
              <MoreByCommand cursor={cursor} command="dead list --limit 999999" />
            </>
          )
        }
      </Shown>
      {shown === undefined ? null : <Message {...shown} close={() => setShown(undefined)} />}
      {discarding === undefined ? null : (
        <Discard name={discarding} close={() => setDiscarding(undefined)} />
      )}
    </section>
  );
}

/** The buttons of a dead letter. */
function LetterActs({
  name,
  reveal,
  discard,
}: {
  name: string;
  reveal(name: string): void;
  discard(name: string): void;
}) {
  const { ask, attempt } = useDesk();
  const putBack = () =>
    attempt(async () => {
      await ask(`/dead-letters/${encodeURIComponent(name)}/put-back`, {});
      return `Put back: ${name}.`;
    });
  return (
    <>
      <WithRole role="decide">
        <button type="button" onClick={putBack}>
          Put back <span class="unseen">{name}</span>
        </button>
      </WithRole>{" "}
      <WithRole role="configure">
        <button type="button" class="grave" onClick={() => discard(name)}>
          Discard … <span class="unseen">{name}</span>
        </button>
      </WithRole>{" "}
      <WithRole role="reveal">
        <button type="button" onClick={() => reveal(name)}>
          Show <span class="unseen">what {name} carries</span>
        </button>
      </WithRole>
    </>
  );
}

/** The message of a dead letter, with its numbers and contexts. */
function Message({
  name,
  revealed: { body, next },
  close,
}: {
  name: string;
  revealed: RevealedDeadLetter;
  close(): void;
}) {
  return (
    <>
      <h4>What {name} carries</h4>
      <p>
        <code>{body}</code>
      </p>
      {next === undefined ? null : (
        <p class="hint">The rest: npm run calls -- dead show {name} --reveal.</p>
      )}
      <button type="button" onClick={close}>
        Hide it
      </button>
    </>
  );
}

/** Asks before a dead letter is removed, and shows what it carries. */
function Discard({ name, close }: { name: string; close(): void }) {
  const { ask, attempt } = useDesk();
  const path = `/dead-letters/${encodeURIComponent(name)}`;
  const { data } = useLive<DeadLetterDetail>(path);
  const act = () =>
    attempt(async () => {
      await ask(`${path}/discard`, {});
      return `Discarded for good: ${name}.`;
    });
  const carries =
    data === undefined
      ? "Reading what it carries …"
      : data.calls === null
        ? `It carries ${data.message_kind ?? "a message that cannot be read"}.`
        : `It carries ${counted(data.calls, "call")} of ${data.client ?? "a client"}, accepted`;
  return (
    <Confirm
      title={`Discard ${name}?`}
      yes="Discard it for good"
      isReady={data !== undefined}
      act={act}
      close={close}
    >
      <p>
        {carries}
        {data?.accepted_at == null ? null : (
          <>
            {" "}
            <Time at={data.accepted_at} />.
          </>
        )}
      </p>
      <p>Its calls that have no row are never dialed. To have them dialed, put it back.</p>
    </Confirm>
  );
}

const restoreTexts: Readonly<Record<RestoreView["state"], string>> = {
  none: "The ledger was not restored.",
  suspended: "The ledger was restored, and nothing is dialed. Confirm to what time it went back.",
  confirmed: "The calls of the restored ledger are being checked, and nothing is dialed yet.",
  done: "The last restore is over: calls are dialed again.",
};

function Restore() {
  const live = useLive<RestoreView>("/restored", refreshMs);
  return (
    <section class="card" aria-labelledby="restore">
      <h3 id="restore">Restore of the ledger</h3>
      <Shown live={live} what="The restore">
        {({ state, since, restored_to, looked_up, to_review, rows_read }) => (
          <>
            <p class={state === "suspended" ? "problem" : undefined}>{restoreTexts[state]}</p>
            {state === "confirmed" ? null : (
              <WithRole role="configure">
                <ConfirmRestore isNoticed={state === "suspended"} />
              </WithRole>
            )}
            {state === "none" ? null : (
              <dl>
                <Fact name="Since">
                  <Time at={since} />
                </Fact>
                <Fact name="Restored to">
                  <Time at={restored_to} />
                </Fact>
                <Fact name="Calls read">{countText(rows_read)}</Fact>
                <Fact name="Looked up">{countText(looked_up)}</Fact>
                <Fact name="To review">{countText(to_review)}</Fact>
              </dl>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

/** A form for the time to which the ledger went back. One that no sweep has noticed is declared, behind a button. */
function ConfirmRestore({ isNoticed }: { isNoticed: boolean }) {
  const { ask, attempt } = useDesk();
  const [at, setAt] = useState<string>();
  const act = () =>
    attempt(async () => {
      await ask("/restored", { at, ...(!isNoticed && { unnoticed: true }) });
      return "Confirmed: the calls of the restored ledger are checked, then dialed.";
    });
  const form = (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault();
        setAt(new Date(textIn(new FormData(event.currentTarget), "at")).toISOString());
      }}
    >
      <label>
        The ledger went back to ({zoneText()})
        <input name="at" type="datetime-local" step="1" required />
      </label>
      <button type="submit" class="grave">
        Confirm …
      </button>
      {at === undefined ? null : (
        <Confirm
          title="Was the ledger restored to this time?"
          yes="Confirm this time"
          act={act}
          close={() => setAt(undefined)}
        >
          <p>
            <Time at={at} />, {at}. Calls that were dialed after it are looked up or wait for a
            review. If this time is too late, people are called twice.
          </p>
        </Confirm>
      )}
    </form>
  );
  if (isNoticed) return form;
  return (
    <details>
      <summary>Declare a restore that the service has not noticed</summary>
      {form}
    </details>
  );
}
