import { sayHolder } from "#shared/rules/texts.ts";
import { type StateFacts, statesWhere } from "#shared/calls/states.ts";
import type { RequestView } from "#shared/answers/answers.ts";
import { Age, countText, Time } from "./shared.tsx";

/** A part of a request: its name, the CSS class of its colour, and its share of the calls, 0 to 1. */
interface Part {
  name: string;
  class: string;
  share: number;
  calls: number;
  isExact: boolean;
}

/** The parts in the order in which the bar shows them. */
const parts = [
  { name: "placed", class: "PLACED" },
  { name: "failed", class: "REJECTED" },
  { name: "cancelled or redialed", class: "CANCELLED" },
  { name: "to review", class: "NEEDS_REVIEW" },
  { name: "dialing or unknown", class: "DIALING" },
  { name: "waiting", class: "WAITING" },
] as const;

/** Names the part to which calls of a state belong. */
function partOf({ open, placed, attention }: StateFacts): (typeof parts)[number]["name"] {
  if (placed === "yes") return "placed";
  if (open) return placed === "no" ? "waiting" : "dialing or unknown";
  if (placed === "no") return "failed";
  return attention ? "to review" : "cancelled or redialed";
}

/**
 * Returns the parts of a request. Counts of a sample are scaled to all, except that of the calls that wait: each of them is
 * counted, also beside what holds them.
 */
function partsOf({ by_state, queued, counted, total, waiting }: RequestView): Part[] {
  const sizes = parts.map((part) => ({
    ...part,
    of: sumIn(by_state, (facts) => partOf(facts) === part.name),
  }));
  const all = [...sizes, { name: "on the queue", class: "QUEUED", of: queued }];
  const whole = counted < total && waiting !== null ? waiting : undefined;
  const sampled = all.filter(({ name }) => whole === undefined || name !== "waiting");
  const perCall = (total - (whole ?? 0)) / sampled.reduce((sum, { of }) => sum + of, 0);
  return all.map(({ of, ...part }) => {
    const isWhole = whole !== undefined && part.name === "waiting";
    const calls = isWhole ? whole : of === 0 ? 0 : of * perCall;
    const isExact = isWhole || counted === total;
    return { ...part, share: calls / total, calls: Math.round(calls), isExact };
  });
}

/** Counts the calls in the states whose facts fulfil a condition. */
function sumIn(byState: RequestView["by_state"], holds: (facts: StateFacts) => boolean): number {
  return statesWhere(holds).reduce((sum, state) => sum + (byState[state] ?? 0), 0);
}

/** True if the service itself continues with calls of a request. */
export function isUnderWay({ by_state, queued }: RequestView): boolean {
  return queued + sumIn(by_state, ({ open }) => open) > 0;
}

/** A bar of the parts of a request. */
function Bar({ shown }: { shown: readonly Part[] }) {
  let x = 0;
  return (
    <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      {shown.map((part) => {
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
  );
}

/** The parts of a request as a bar, and in words. */
export function Parts({ request }: { request: RequestView }) {
  const shown = partsOf(request).filter(({ share }) => share > 0);
  return (
    <div class="progress">
      <Bar shown={shown} />
      <ul class="legend">
        {shown.map((part) => (
          <li key={part.name}>
            <span class={`dot ${part.class}`} aria-hidden="true" /> {part.isExact ? "" : "about "}
            {countText(part.calls)} {part.name}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A request's progress: its parts, the rate, and the expected end. A card of its own says why calls wait. */
export function Progress({ request }: { request: RequestView }) {
  return (
    <>
      <Parts request={request} />
      <p class="hint">
        <Pace request={request} />
      </p>
    </>
  );
}

/** The rate of a request and its expected end, in words. */
export function Pace({ request }: { request: RequestView }) {
  if (!isUnderWay(request)) return <>All of its calls are finished.</>;
  const { calls_per_minute: rate, expected_end_at: end } = request;
  return (
    <>
      {rate === 0 ? "None finished in the last minutes" : `${paceText(rate)} calls a minute`};{" "}
      {end === null ? (
        `${whyUnknown(request)}.`
      ) : (
        <>
          the last waiting call is expected to go{" "}
          {Date.parse(end) <= Date.now() ? (
            "any moment now."
          ) : (
            <>
              <Age at={end} />, <Time at={end} />.
            </>
          )}
        </>
      )}
    </>
  );
}

/** Formats a rate with as many digits as it is measured by: `14`, `1.5`. */
function paceText(rate: number): string {
  return countText(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate));
}

/** The holders of the calls of a request now, each in a line. */
export function HeldOf({ request: { blocked_by: blockedBy, queued } }: { request: RequestView }) {
  if (queued > 0) return null;
  return (
    <>
      {blockedBy.map((holder) => (
        <span class="block" key={`${holder.reason} ${holder.name}`}>
          {holderText(holder)}
        </span>
      ))}
    </>
  );
}

/** Says why the end of a request is not known. */
function whyUnknown({ queued, by_state, blocked_by }: RequestView): string {
  if (queued > 0) return "its end is not known while calls are on the queue";
  if (blocked_by.some(({ reason }) => reason === "not_read"))
    return "its end is not known, as not all that waits could be read";
  if (blocked_by.every(({ reason }) => reason === "not_measured") && blocked_by.length > 0)
    return "its end is not known until the speed of the account is";
  if (blocked_by.length > 0) return "its end is not known while calls are held";
  return (by_state["WAITING"] ?? 0) > 0
    ? "its end is not known yet"
    : "no call waits, and the last ones are under way";
}

/** Says what holds calls: `40: Paused: agent agent_sales.` */
function holderText({ reason, name, calls }: RequestView["blocked_by"][number]): string {
  const texts = sayHolder(reason, name);
  return calls === 0 ? texts : `${countText(calls)}: ${texts}`;
}
