import type { RequestView } from "../operator/request-progress.ts";
import { Age, countText, Time } from "./shared.tsx";

/** A part of a request: its name, the class that colours it, and the share of its calls, 0 to 1. */
interface Part {
  name: string;
  class: string;
  share: number;
  calls: number;
}

/** Returns the parts of a request in the order in which its bar shows them. Counts of some calls are scaled to all. */
function partsOf({ by_state, queued, counted, total }: RequestView): Part[] {
  const sum = (...names: (keyof typeof by_state)[]) =>
    names.reduce((all, name) => all + (by_state[name] ?? 0), 0);
  return [
    { name: "placed", class: "PLACED", of: sum("PLACED") },
    { name: "failed", class: "REJECTED", of: sum("REJECTED", "EXPIRED") },
    { name: "cancelled or redialed", class: "CANCELLED", of: sum("CANCELLED", "REDIALED") },
    { name: "to review", class: "NEEDS_REVIEW", of: sum("NEEDS_REVIEW") },
    { name: "dialing or unknown", class: "DIALING", of: sum("DIALING", "UNKNOWN") },
    { name: "waiting", class: "WAITING", of: sum("WAITING") },
    { name: "on the queue", class: "QUEUED", of: queued },
  ].map(({ of, ...part }) => ({
    ...part,
    share: of / counted,
    calls: Math.round((of / counted) * total),
  }));
}

/** True if the service itself goes on with calls of a request. */
export function isUnderWay({ by_state, queued }: RequestView): boolean {
  const { WAITING = 0, DIALING = 0, UNKNOWN = 0 } = by_state;
  return queued + WAITING + DIALING + UNKNOWN > 0;
}

/** A request's progress: a bar whose parts are told in words too, its rate and its expected end. */
export function Progress({ request }: { request: RequestView }) {
  const parts = partsOf(request).filter(({ share }) => share > 0);
  const about = request.counted < request.total ? "about " : "";
  let x = 0;
  return (
    <div class="progress">
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        {parts.map((part) => {
          const start = x;
          x += part.share * 100;
          return (
            <rect
              key={part.name}
              class={`fill ${part.class}`}
              x={start}
              y={0}
              width={part.share * 100}
              height={4}
            />
          );
        })}
      </svg>
      <ul class="legend">
        {parts.map((part) => (
          <li key={part.name}>
            <span class={`dot ${part.class}`} aria-hidden="true" /> {about}
            {countText(part.calls)} {part.name}
          </li>
        ))}
      </ul>
      <p class="hint">
        {isUnderWay(request) ? <Pace request={request} /> : "All of it has ended."}
      </p>
    </div>
  );
}

function Pace({ request }: { request: RequestView }) {
  const { calls_per_minute: rate, expected_end_at: end } = request;
  return (
    <>
      {rate === 0 ? "None ended in the last minutes" : `${rate.toLocaleString()} calls a minute`};{" "}
      {end === null ? (
        "its end cannot be told yet."
      ) : (
        <>
          expected to end <Age at={end} />, at <Time at={end} />.
        </>
      )}
    </>
  );
}
