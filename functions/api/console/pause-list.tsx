import { BreakerText } from "./breaker.tsx";
import type { Pauses, PauseView } from "../operator/pauses.ts";
import { type Ask, type Attempt, textIn, Time } from "./shared.tsx";

/** The operators' pauses and the service's open circuit breakers. */
export function PauseList({
  pauses,
  ask: asking,
  attempt,
}: {
  pauses: Pauses | undefined;
  ask: Ask;
  attempt: Attempt;
}) {
  if (pauses === undefined) return null;
  const resume = (name: string, what: object) =>
    attempt(async () => {
      await asking("/resume", what);
      return `Resumed: ${name}.`;
    });
  return (
    <section class="card" aria-labelledby="pauses">
      <h2 id="pauses">Paused</h2>
      {pauses.pauses.length + pauses.breakers.length === 0 ? <p>Nothing is paused.</p> : null}
      <ul class="rows">
        {pauses.pauses.map(({ at, by, ...what }) => (
          <li key={nameOf(what)}>
            <span>
              <b>{nameOf(what)}</b>, by {by} since <Time at={at} />
            </span>
            <button type="button" onClick={() => resume(nameOf(what), what)}>
              Resume {nameOf(what)}
            </button>
          </li>
        ))}
        {pauses.breakers.map((breaker) => (
          <li key={breaker.key}>
            <BreakerText breaker={breaker} />
            <button type="button" onClick={() => resume(breaker.key, { breaker: breaker.key })}>
              Resume {breaker.key}
            </button>
          </li>
        ))}
      </ul>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const [kind, ...rest] = textIn(form, "what").split(" ");
          const name = kind === "other" ? textIn(form, "agent") : rest.join(" ");
          const what = kind === "account" ? { account: name } : { agent_id: name };
          attempt(async () => {
            await asking("/pause", what);
            return `Paused: ${nameOf(what)}.`;
          });
        }}
      >
        <label>
          Pause
          <select name="what">
            {pauses.accounts.map((name) => (
              <option value={`account ${name}`}>account {name}</option>
            ))}
            {pauses.agents.map((name) => (
              <option value={`agent ${name}`}>agent {name}</option>
            ))}
            {pauses.other_agents ? <option value="other">the agent named beside</option> : null}
          </select>
        </label>
        {pauses.other_agents ? (
          <label>
            Agent
            <input name="agent" />
          </label>
        ) : null}
        <button type="submit">Pause</button>
      </form>
    </section>
  );
}

function nameOf({ agent_id, account = "" }: Partial<PauseView>): string {
  return agent_id === undefined ? `account ${account}` : `agent ${agent_id}`;
}
