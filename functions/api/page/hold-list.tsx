import type { Holds } from "./client.ts";
import { type Ask, type Attempt, textIn, Time } from "./shared.tsx";

/** What is held, by an operator or by the service itself. */
export function HoldList({
  holds,
  ask: asking,
  attempt,
}: {
  holds: Holds | undefined;
  ask: Ask;
  attempt: Attempt;
}) {
  if (holds === undefined) return null;
  const release = (name: string, what: object) =>
    attempt(async () => {
      await asking("/release", what);
      return `Released: ${name}.`;
    });
  const ordered = (name: string) => {
    const [, kind, what = ""] = /^hold (agent|account) (.*)$/.exec(name) ?? [];
    return kind === "agent" ? { agent_id: what } : { account: what };
  };
  return (
    <section class="card" aria-labelledby="holds">
      <h2 id="holds">Held</h2>
      {holds.orders.length + holds.holds.length === 0 ? <p>Nothing is held.</p> : null}
      <ul class="rows">
        {holds.orders.map(({ name, at, by }) => (
          <li key={name}>
            <span>
              <b>{name.slice(5)}</b>, by {by} since <Time at={at} />
            </span>
            <button type="button" onClick={() => release(name, ordered(name))}>
              Release {name.slice(5)}
            </button>
          </li>
        ))}
        {holds.holds.map(({ name, code, probe_at }) => (
          <li key={name}>
            <span>
              <b>{name}</b> answers <code>{code}</code>; probed next at <Time at={probe_at} />
            </span>
            <button type="button" onClick={() => release(name, { hold: name })}>
              Release {name}
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
          attempt(async () => {
            await asking("/hold", kind === "account" ? { account: name } : { agent_id: name });
            return `Held: ${name}.`;
          });
        }}
      >
        <label>
          Hold
          <select name="what">
            {holds.accounts.map((name) => (
              <option value={`account ${name}`}>account {name}</option>
            ))}
            {holds.agents.map((name) => (
              <option value={`agent ${name}`}>agent {name}</option>
            ))}
            {holds.other_agents ? <option value="other">the agent named beside</option> : null}
          </select>
        </label>
        {holds.other_agents ? (
          <label>
            Agent
            <input name="agent" />
          </label>
        ) : null}
        <button type="submit">Hold</button>
      </form>
    </section>
  );
}
