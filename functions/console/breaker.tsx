import type { BreakerView } from "../../shared/answers/answers.ts";
import { Age, counted, Time } from "./shared.tsx";

/** An open circuit breaker: its subject, the code that opened it, and its next probe. */
export function BreakerText({ breaker }: { breaker: BreakerView }) {
  const { kind, name, agent_id, client, state, code, opened_at, probe_at, failures } = breaker;
  const answers = `the ${kind === "receiver" || kind === "check" ? kind : "provider"} answers`;
  return (
    <span>
      The circuit breaker{" "}
      {agent_id === undefined ? (
        <>
          of the {kind} <b>{name}</b>
        </>
      ) : (
        <>
          of the calls of <b>{client}</b> to the agent <b>{agent_id}</b>
        </>
      )}{" "}
      is {state === "open" ? "open" : "half-open"} since <Time at={opened_at} />: {answers}{" "}
      <code>{code}</code>
      {failures === null ? "" : `, ${failuresText(failures)}`}.{" "}
      {state === "open" ? (
        <>
          It is probed next <Age at={probe_at} />.
        </>
      ) : (
        "Few calls go at once until more are taken."
      )}
    </span>
  );
}

function failuresText(failures: NonNullable<BreakerView["failures"]>): string {
  if ("unreachable" in failures) {
    return `${counted(failures.unreachable, "request")} unanswered, ${failures.in_row} in a row`;
  }
  const refusals = Object.entries(failures.refusals)
    .map(([code, count]) => `${count} refusals with ${code} in a row`)
    .join(", ");
  const countries = Object.entries(failures.countries).map(([name, count]) => `${name} (${count})`);
  return countries.length === 0 ? refusals : `${refusals}, of numbers of ${countries.join(", ")}`;
}
