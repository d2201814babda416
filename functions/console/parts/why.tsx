import type { AccountNow, HolderView, Why } from "#shared/answers/answers.ts";
import { useRef } from "preact/hooks";
import { findText, sayHolder } from "#shared/rules/texts.ts";
import { addressOf } from "../data/address.ts";
import { Shown, useLive } from "./desk.tsx";
import { type EndRead, findMoved } from "../data/end-moved.ts";
import { Age, counted, countText, Fact, Time } from "./shared.tsx";

const refreshMs = 20_000;
/** Interval where some calls are asked about: beside what the view reads of them. */
const partRefreshMs = 30_000;

/** The calls that are asked about: all, or those of a call, a request, a campaign, a client, an agent or an account. */
type Asked = Readonly<Record<string, string>>;

function pathOf(asked: Asked): string {
  const query = new URLSearchParams(asked).toString();
  return query === "" ? "/why" : `/why?${query}`;
}

/** Reads why calls wait. Every view asks this. */
export function useWhy(asked: Asked = {}) {
  const isAll = Object.keys(asked).length === 0;
  return useLive<Why>(pathOf(asked), isAll ? refreshMs : partRefreshMs);
}

/** Why calls wait: a bar of the reasons, a row for each, and the accounts with their limits. */
export function WhyCard({ asked, title = "Why calls wait" }: { asked?: Asked; title?: string }) {
  const live = useWhy(asked);
  return (
    <section class="card" aria-labelledby="why">
      <h3 id="why">{title}</h3>
      <Shown live={live} what="The reasons">
        {(why) => (
          <>
            <Reasons why={why} />
            {asked === undefined || why.calls === 0 ? null : <End why={why} />}
            <Accounts why={why} />
          </>
        )}
      </Shown>
    </section>
  );
}

/** The holder of one call that waits. */
export function HeldNow({ id }: { id: string }) {
  const { data, problem } = useWhy({ call_id: id });
  const [holder] = data?.holders ?? [];
  const none =
    data !== undefined
      ? "It does not wait any more."
      : problem === undefined
        ? "…"
        : `It could not be read: ${problem}`;
  return <Fact name="Held now">{holder === undefined ? none : <Held {...holder} />}</Fact>;
}

/** A sentence on what holds calls. The code is its title. */
export function Held({ reason, name }: Pick<HolderView, "reason" | "name">) {
  const code = name === "" ? reason : `${reason}:${name}`;
  return (
    <span title={code}>
      {sayHolder(reason, name)}
      <code class="code">{code}</code>
    </span>
  );
}

/** One hue for each possible end of a wait: a person, a provider, time, or other calls. */
const hueOf = (reason: string) => `held-${findText(reason)?.endedBy ?? "calls"}`;

function Reasons({ why }: { why: Why }) {
  const { calls: all, is_whole, rows_read, holders } = why;
  if (holders.length === 0) return <p>No call waits.</p>;
  const isLike = holders.some(({ is_exact }) => !is_exact);
  let x = 0;
  return (
    <>
      <svg class="stack" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        {holders.map(({ reason, name, calls }) => {
          const start = x;
          x += (calls / all) * 100;
          return (
            <rect
              key={`${reason} ${name}`}
              class={`fill ${hueOf(reason)}`}
              x={start}
              width={Math.max(0.2, x - start - 0.15)}
              height={4}
            />
          );
        })}
      </svg>
      <ul class="held" aria-label="Reasons">
        {holders.map(({ reason, name, calls, is_exact }) => (
          <li key={`${reason} ${name}`}>
            <span class={`dot ${hueOf(reason)}`} aria-hidden="true" />
            <Held reason={reason} name={name} />
            <b>
              {is_exact ? "" : "about "}
              {countText(calls)}
            </b>
          </li>
        ))}
      </ul>
      <p class="hint">
        What holds {is_whole ? "the" : "the first"} {counted(all, "call")} now.
        {isLike
          ? ` Numbers with "about" are estimated from ${countText(rows_read)} calls, spread evenly.`
          : null}
        {why.about === null ? null : (
          <>
            {" "}
            About {countText(why.about.calls)} waited <Age at={why.about.at} />.
          </>
        )}
      </p>
    </>
  );
}

/** The accounts of the calls, with their limits and how much of them the calls get. */
function Accounts({ why: { accounts } }: { why: Why }) {
  if (accounts.length === 0) return null;
  return (
    <ul class="accounts" aria-label="Accounts">
      {accounts.map((account) => (
        <li key={account.name}>
          <a href={addressOf("accounts")}>{account.account}</a>
          <span>{limitsText(account)}</span>
          <span class="hint">{shareText(account)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Describes the limits of an account, and how far they are used: `2 calls a second, 3 of 10 live`. */
function limitsText({ pace, seen_pace: seen, limits }: AccountNow): string {
  return [pace, ...(seen === null ? [] : [`seen to take ${seen}`]), ...limits.map(usedText)].join(
    "; ",
  );
}

/** Says how far a limit of an account is used: `3 of 10 live calls`. */
export function usedText({ reason, now, limit }: AccountNow["limits"][number]): string {
  return `${countText(now)} of ${countText(limit)} ${findText(reason)?.counts ?? reason}`;
}

/** Says how much of an account some calls get in the next hour. */
function shareText({ calls, waiting, next_hour: { own, all } }: AccountNow): string {
  if (all === 0) return `${counted(calls, "call")} here; none is expected to go within an hour.`;
  if (calls === waiting) return `It is expected to take ${counted(own, "call")} within an hour.`;
  return `${countText(own)} of the ${counted(all, "call")} that it is expected to take within an hour are of these; ${countText(waiting - calls)} others wait for it.`;
}

/** The first reading of each subject, with which later ones are compared. */
const firstReads = new Map<string, EndRead>();
const firstReadsMax = 200;

/** The expected end of the last of the calls, with its longest wait, and why that has moved. */
function End({ why }: { why: Why }) {
  const { expected_end_at: end, end_waits_for: waits } = why;
  const key = useRef(location.hash).current;
  const before = firstReads.get(key);
  if (before?.expected_end_at == null && end !== null && firstReads.size < firstReadsMax)
    firstReads.set(key, why);
  if (end === null) return null;
  const moved = before === undefined ? undefined : findMoved(before, why);
  const [longest] = waits.toSorted((one, other) => other.seconds - one.seconds);
  return (
    <p>
      The last is expected to go <Age at={end} />
      {longest === undefined ? "." : ": most of the time it waits for this. "}
      {longest === undefined ? null : <Held {...longest} />}
      {moved === undefined ? null : (
        <span class="moved">
          {" "}
          {moved.isEarlier ? "Earlier" : "Later"} than <Time at={moved.before} />, as was expected{" "}
          <Age at={moved.toldAt} />:{" "}
          {moved.cause === undefined ? (
            "other calls came or went."
          ) : (
            <>
              it waits {moved.isEarlier ? "less" : "longer"} for this.{" "}
              <Held reason={moved.cause.reason} name={moved.cause.name} />
            </>
          )}
        </span>
      )}
    </p>
  );
}
