import type { CallDetail, CallsPage, Revealed } from "#shared/answers/answers.ts";
import { useEffect, useState } from "preact/hooks";
import { addressOf } from "../data/address.ts";
import { Shown, useDesk, useLive, useRoles } from "../parts/desk.tsx";
import { ProviderFacts } from "./provider-record.tsx";
import { Fact, Reason, StateName, Time } from "../parts/shared.tsx";
import { HeldNow } from "../parts/why.tsx";

/** Describes the result of a placed call. */
function resultText({ status, human, seconds, cost }: NonNullable<CallDetail["result"]>): string {
  const who = human === null ? "" : human ? ", a person" : ", a machine";
  const price = cost === undefined ? "" : `, ${cost.amount} ${cost.currency}`;
  return `${status.replace("_", " ")}${who}${seconds === null ? "" : `, ${seconds} s`}${price}`;
}

/** Describes what the look-ups at the provider have shown. */
function recordText(call: CallDetail): string {
  if (call.provider_call_id !== null)
    return `the provider has the call as ${call.provider_call_id}`;
  if (call.lookup_misses > 0) {
    const times = call.lookup_misses === 1 ? "once" : `${call.lookup_misses} times`;
    return `looked up ${times}, and not found`;
  }
  return call.claimed_at === null
    ? "nothing was sent"
    : "not looked up, or the provider has no records to search";
}

/** The zones of a callee who may be in several. */
function Zones({ of: zones }: { of: readonly string[] }) {
  if (zones.length < 2) return null;
  return (
    <Fact name="Time zones">
      {zones.join(", ")}
      <span class="hint"> Hours must be open in all of them, as the call names no timezone.</span>
    </Fact>
  );
}

/** A fact that is another call. */
function link(label: string, id: string | null) {
  return id === null ? null : (
    <Fact name={label}>
      <a href={addressOf("calls", { call: id })}>{id}</a>
    </Fact>
  );
}

/** The call's place among its tries, and the calls beside it. */
function Tries({ call: { tries, call_back } }: { call: CallDetail }) {
  if (tries === undefined) return null;
  return (
    <>
      <Fact name="Try">
        {tries.number} of {tries.most}
      </Fact>
      {link("Try before", tries.before)}
      {link(call_back?.by === "service" ? "Promised call" : "Next try", tries.next)}
    </>
  );
}

/** The time for which the callee was promised a call, or why no call is promised. */
function CallBack({ call: { call_back, time_zones } }: { call: CallDetail }) {
  if (call_back === undefined) return null;
  const { at, reason } = call_back;
  return (
    <Fact name="Call back">
      {at === null ? (
        `not promised: ${reason?.replaceAll("_", " ")}`
      ) : (
        <Time at={at} callee={time_zones} />
      )}
    </Fact>
  );
}

/** All facts about a call. Its number and context are shown only when revealed, which is recorded. */
export function CallFacts({ call }: { call: CallDetail }) {
  return (
    <dl>
      <Fact name="State">
        <StateName state={call.state} />
      </Fact>
      {call.state === "WAITING" ? (
        <HeldNow id={call.id} />
      ) : (
        <Fact name="Reason">
          <Reason code={call.reason} />
        </Fact>
      )}
      <Fact name="Client">{call.client}</Fact>
      <Fact name="Agent">{call.agent_id}</Fact>
      <Fact name="Account">{call.account ?? "none yet"}</Fact>
      {call.not_before === undefined ? null : (
        <Fact name="Not before">
          <Time at={call.not_before} callee={call.time_zones} />
        </Fact>
      )}
      {call.due_at === null ? null : (
        <Fact name="Next">
          <Time at={call.due_at} callee={call.time_zones} />
        </Fact>
      )}
      {call.urgent ? <Fact name="Priority">urgent</Fact> : null}
      {call.campaign === undefined ? null : <Fact name="Campaign">{call.campaign}</Fact>}
      <Fact name="Provider's record">{recordText(call)}</Fact>
      <ProviderFacts call={call} />
      <Zones of={call.time_zones} />
      {call.claimed_at === null ? null : (
        <Fact name="Last sent">
          <Time at={call.claimed_at} callee={call.time_zones} />
        </Fact>
      )}
      {call.result === null ? null : <Fact name="Result">{resultText(call.result)}</Fact>}
      <CallBack call={call} />
      <Fact name="Request">
        <a href={addressOf("requests", { id: call.request_id })}>{call.request_id}</a>
      </Fact>
      <Whom key={call.id} call={call} />
      <Tries call={call} />
      {link("Replaces", call.redial_of)}
      {link("Redialed as", call.redialed_as)}
    </dl>
  );
}

/** The last digits of the number; once revealed, the number and the context. */
function Whom({ call }: { call: CallDetail }) {
  const { ask, attempt } = useDesk();
  const mayReveal = useRoles().includes("reveal");
  const [revealed, setRevealed] = useState<Revealed>();
  // A placed call's number is erased.
  const isErased = !call.can_be_revealed;
  useEffect(() => {
    if (isErased) setRevealed(undefined);
  }, [isErased]);
  const reveal = () =>
    attempt(async () => {
      setRevealed(await ask<Revealed>(`/calls/${encodeURIComponent(call.id)}/reveal`, {}));
      return "Shown, and recorded in the audit log.";
    });
  return (
    <>
      <Fact name="Number">
        {revealed === undefined ? `…${call.number_tail}` : revealed.phone_number}{" "}
        {mayReveal && call.can_be_revealed && revealed === undefined ? (
          <button type="button" onClick={reveal}>
            Show number and context
          </button>
        ) : null}
      </Fact>
      {Object.entries(revealed?.context ?? {}).map(([name, value]) => (
        <Fact key={name} name={`context ${name}`}>
          {value}
        </Fact>
      ))}
    </>
  );
}

/** Describes the time between two steps: `after 3 s`. */
function gapText(fromMs: number, toMs: number): string {
  const seconds = Math.round((toMs - fromMs) / 1000);
  if (seconds < 1) return "at once";
  if (seconds < 120) return `after ${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `after ${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `after ${hours} h` : `after ${Math.round(hours / 24)} days`;
}

/** Describes the checks that permitted a call, with their evidence. */
function checksText(checks: CallDetail["history"][number]["checks"] = []): string {
  return checks
    .map(({ check, evidence }) => `, ${check} said call${evidence === null ? "" : `: ${evidence}`}`)
    .join("");
}

/** The timeline of a call. */
export function Timeline({ call }: { call: CallDetail }) {
  return (
    <ol class="timeline" aria-label="What happened">
      {call.history.map((step, index) => {
        const before = call.history[index - 1];
        return (
          <li key={`${step.at} ${step.state}`} class={step.state}>
            <b>
              <StateName state={step.state} />
            </b>{" "}
            <Reason code={step.reason} />
            {step.due_at === null ? null : (
              <>
                , until <Time at={step.due_at} callee={call.time_zones} />
              </>
            )}
            {step.by === null ? "" : `, by ${step.by}`}
            {checksText(step.checks)}
            <span class="hint">
              <Time at={step.at} callee={step.state === "DIALING" ? call.time_zones : []} />
              {before === undefined
                ? ""
                : `, ${gapText(Date.parse(before.at), Date.parse(step.at))}`}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const sameNumberRefreshMs = 30_000;

/** Other calls to the same number, without the number. */
export function SameNumber({ id }: { id: string }) {
  const live = useLive<Pick<CallsPage, "calls">>(
    `/calls/${encodeURIComponent(id)}/same-number`,
    sameNumberRefreshMs,
  );
  return (
    <Shown live={live} what="Other calls to the number">
      {({ calls }) =>
        calls.length === 0 ? (
          <p>There is no other call to this number.</p>
        ) : (
          <ul class="rows">
            {calls.map((call) => (
              <li key={call.id}>
                <a href={addressOf("calls", { call: call.id })}>
                  <Time at={call.accepted_at} />
                </a>
                <span>
                  <StateName state={call.state} /> {call.agent_id}: <Reason code={call.reason} />
                  {call.result === null ? "" : `: ${resultText(call.result)}`}
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}
