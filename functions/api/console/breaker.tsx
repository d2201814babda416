import type { BreakerView } from "../operator/breaker-views.ts";
import { Age, Time } from "./shared.tsx";

/** An open circuit breaker: its subject, the code that opened it, and its next probe. */
export function BreakerText({ breaker }: { breaker: BreakerView }) {
  const { kind, name, code, opened_at, probe_at, failures, agents = [] } = breaker;
  return (
    <span>
      The circuit breaker of the {kind} <b>{name}</b>
      {kind === "route" ? ` (${agentsText(agents)})` : ""} is open since <Time at={opened_at} />:
      the {kind === "receiver" ? "receiver" : "provider"} answers <code>{code}</code>
      {failures === null ? "" : `, ${failuresText(failures)}`}. It is probed next{" "}
      <Age at={probe_at} />.
    </span>
  );
}

/** Describes the agents that use the route. */
function agentsText(agents: readonly string[]): string {
  if (agents.length === 0) return "of no agent in today's plan";
  const names = agents.map((name) => (name === "*" ? "those that the plan does not name" : name));
  return `of ${names.join(", ")}`;
}

function failuresText(failures: NonNullable<BreakerView["failures"]>): string {
  if ("unanswered" in failures) {
    return `${failures.unanswered} requests unanswered, ${failures.in_row} in a row`;
  }
  return Object.entries(failures.refusals)
    .map(([code, count]) => `${count} refusals with ${code} in a row`)
    .join(", ");
}
