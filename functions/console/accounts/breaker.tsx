import type { Pauses } from "#shared/answers/answers.ts";
import { sayReason } from "#shared/rules/texts.ts";
import { Age, counted, Reason, Time } from "../parts/shared.tsx";

type BreakerView = Pauses["breakers"][number];

/** An open circuit breaker: its subject, the code that opened it, and its next probe. */
export function BreakerText({ breaker }: { breaker: BreakerView }) {
  const { kind, name, agent_id, client, state, code, opened_at, probe_at, failures } = breaker;
  const answers = `The ${kind === "receiver" || kind === "check" ? kind : "provider"} answers`;
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
      is {state === "open" ? "open" : "half-open"} since <Time at={opened_at} />. {answers}:{" "}
      <Reason code={code} />
      {failures === null ? "" : ` ${failuresText(failures)}.`}{" "}
      {state === "open" ? (
        <>
          {Date.parse(probe_at) <= Date.now() ? (
            "It is probed with the next call."
          ) : (
            <>
              It is probed <Age at={probe_at} />.
            </>
          )}
        </>
      ) : (
        "Few calls are sent at once until more are accepted."
      )}
    </span>
  );
}

function failuresText(failures: NonNullable<BreakerView["failures"]>): string {
  if ("unreachable" in failures) {
    return `${counted(failures.unreachable, "request")} unanswered, ${failures.in_row} in a row`;
  }
  const refusals = Object.entries(failures.refusals)
    .map(([code, count]) => `${count} refusals in a row: ${sayReason(code).replace(/\.$/, "")}`)
    .join(", ");
  const countries = Object.entries(failures.countries).map(([name, count]) => `${name} (${count})`);
  return countries.length === 0 ? refusals : `${refusals}, of numbers of ${countries.join(", ")}`;
}
