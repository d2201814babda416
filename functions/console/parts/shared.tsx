import { isTestClient } from "#shared/calls/ids.ts";
import { sayReason } from "#shared/rules/texts.ts";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CallDetail } from "#shared/answers/answers.ts";

/** Names a state in words: `Needs review`. */
export function stateText(state: CallDetail["history"][number]["state"]): string {
  return state[0] + state.slice(1).toLowerCase().replaceAll("_", " ");
}

/** Formats a time in the browser's zone, with the zone's short name: `24/11/2026, 14:20:05 GMT+1`. */
function timeText(time: string | null): string {
  if (time === null) return "";
  return new Date(time).toLocaleString(undefined, { dateStyle: "short", timeStyle: "long" });
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const dayMs = 86_400_000;

/** Formats a time shortly, in the browser's zone: `today 17:51`, `24 Nov 17:51`. */
export function shortTime(time: string, now = Date.now()): string {
  const at = new Date(time);
  const isOn = (ms: number) => new Date(ms).toDateString() === at.toDateString();
  const isThisYear = at.getFullYear() === new Date(now).getFullYear();
  const day = isOn(now)
    ? "today"
    : isOn(now - dayMs)
      ? "yesterday"
      : isOn(now + dayMs)
        ? "tomorrow"
        : (isThisYear ? dayOfYear : dayAndYear).format(at);
  return `${day} ${clock.format(at)}`;
}

/** Returns the short name of the browser's zone today: `GMT+1`. */
export function zoneText(): string {
  const parts = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts();
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** Formats a time of day at the callee's: `Tue 07:20 GMT-6`. Returns undefined for a zone that the browser lacks. */
function calleeText(time: string, timeZone: string): string | undefined {
  try {
    return new Date(time).toLocaleString(undefined, {
      timeZone: timeZone === "Z" ? "UTC" : timeZone,
      weekday: "short",
      hour: "2-digit",
      minute: "2-digit",
      timeZoneName: "short",
    });
  } catch {
    return undefined;
  }
}

/** A time in the browser's zone, and beside it the callee's local time if only one zone is given. */
export function Time({ at, callee = [] }: { at: string | null; callee?: readonly string[] }) {
  if (at === null) return null;
  const [zone, ...others] = callee;
  const there = zone === undefined || others.length > 0 ? undefined : calleeText(at, zone);
  return (
    <>
      <time class="at" dateTime={at} title={timeText(at)}>
        {shortTime(at)}
      </time>
      {there === undefined ? null : <span class="there"> callee: {there}</span>}
    </>
  );
}

const relative = new Intl.RelativeTimeFormat(undefined);

/** Describes the distance of a time from now: `3 hours ago`, `in 10 hours`. */
export function ageText(time: string): string {
  const minutes = (Date.parse(time) - Date.now()) / 60_000;
  const size = Math.abs(minutes);
  if (size < 1) return relative.format(Math.round(minutes * 60), "second");
  if (size < 60) return relative.format(Math.round(minutes), "minute");
  if (size < 48 * 60) return relative.format(Math.round(minutes / 60), "hour");
  return relative.format(Math.round(minutes / 1440), "day");
}

/** The distance of a time from now. The exact time is its title. */
export function Age({ at }: { at: string | null }) {
  if (at === null) return null;
  return (
    <time dateTime={at} title={timeText(at)}>
      {ageText(at)}
    </time>
  );
}

const numbers = new Intl.NumberFormat();
/** Describes a count, with `+` if counting ended at `most`. */
export function countText(count: number, most?: number): string {
  return `${numbers.format(count)}${count === most ? "+" : ""}`;
}

/** Formats a count with its noun: `1 call`, `1,200 calls`. */
export function counted(count: number, noun: string, most?: number): string {
  return `${countText(count, most)} ${noun}${count === 1 ? "" : "s"}`;
}

/** The colour and the name of a state. */
export function StateName({ state }: { state: CallDetail["history"][number]["state"] }) {
  return (
    <>
      <span class={`dot ${state}`} aria-hidden="true" /> {stateText(state)}
    </>
  );
}

/** The shape of what is loading. */
export function Skeleton() {
  return (
    <div class="skeleton" aria-busy="true">
      <span class="unseen">Loading …</span>
      <i />
      <i />
      <i />
    </div>
  );
}

/** Why a call is in its state, in a sentence. The code is its title, and stands beside it for who has asked for codes. */
export function Reason({ code }: { code: string }) {
  const texts = sayReason(code);
  return (
    <span title={code}>
      {texts}
      {texts === code ? null : <code class="code">{code}</code>}
    </span>
  );
}

/** Marks what is of test calls, which nobody receives. */
export function TestMark({ client }: { client: string }) {
  return isTestClient(client) ? <b class="hint">test</b> : null;
}

/** A term and its description. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/**
 * A table. On a narrow screen each row is a card, whose cells have the names of their columns; the first column stays in
 * sight where a wide table is scrolled, also with the keyboard. The head of a column of times names their zone.
 */
export function Table({
  label,
  columns,
  children,
}: {
  label: string;
  columns: readonly string[];
  children: ComponentChildren;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const names = columns.join("\n");
  useEffect(() => {
    const { current } = body;
    if (current === null) return undefined;
    const name = () => {
      const heads = current.parentElement?.querySelectorAll<HTMLElement>("thead th") ?? [];
      const [timed, figures] = [new Set<number>(), new Set<number>()];
      for (const row of current.rows)
        for (const [index, cell] of [...row.cells].entries()) {
          cell.dataset["label"] = columns[index] ?? "";
          if (cell.querySelector(".at") !== null) timed.add(index);
          if (cell.classList.contains("figure")) figures.add(index);
        }
      for (const [index, head] of heads.entries()) {
        if (timed.has(index)) head.dataset["zone"] = zoneText();
        else delete head.dataset["zone"];
        head.toggleAttribute("data-figure", figures.has(index));
      }
    };
    name();
    // Rows come and go without a rendering of the table.
    const observer = new MutationObserver(name);
    observer.observe(current, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [names]);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
      </table>
    </div>
  );
}

/** Returns the text of a form's field. */
export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** Says that a list goes on behind what the page shows, and which command lists all of it. */
export function MoreByCommand({
  cursor,
  command,
}: {
  cursor: string | undefined;
  command: string;
}) {
  return cursor === undefined ? null : (
    <p class="hint">
      There are more than these. <code>npm run calls -- {command}</code> lists all.
    </p>
  );
}
