import type { Backlogs, Counts, Pauses, Why } from "#shared/answers/answers.ts";
import type { ComponentChildren } from "preact";
import type { CallState } from "#shared/calls/states.ts";
import { addressOf } from "../data/address.ts";
import { type Live, Shown, useLive } from "../parts/desk.tsx";
import { NeedList } from "../parts/needs.tsx";
import { ResultsOfCalls } from "../results/results.tsx";
import { Age, ageText, countText } from "../parts/shared.tsx";
import { useWhy, WhyCard } from "../parts/why.tsx";
import { FirstSteps } from "./first-steps.tsx";

const hourMs = 3_600_000;
const refreshMs = 20_000;

/** Cards for problems, progress and open tasks, with links, what needs a person, and the outcome of calls. */
export function Overview() {
  const counts = useLive<Counts>("/counts?hours=24", refreshMs);
  const pauses = useLive<Pauses>("/pauses", refreshMs);
  const backlogs = useLive<Backlogs>("/backlogs?limit=1", refreshMs);
  return (
    <>
      <FirstSteps />
      <Shown live={counts} what="The counts">
        {(data) => <Cards counts={data} pauses={pauses} backlogs={backlogs} />}
      </Shown>
      <NeedList />
      <ResultsOfCalls />
      <WhyCard />
    </>
  );
}

function Card({
  name,
  value,
  href,
  isGrave = false,
  children,
}: {
  name: string;
  value: string;
  href: string;
  isGrave?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <li>
      <a class={isGrave ? "fact grave" : "fact"} href={href}>
        <span>{name}</span>
        <b>{value}</b>
        <span class="hint">{children}</span>
      </a>
    </li>
  );
}

function Cards({
  counts,
  pauses,
  backlogs,
}: {
  counts: Counts;
  pauses: Live<Pauses>;
  backlogs: Live<Backlogs>;
}) {
  const { current, current_max: most, last_sweep_at } = counts;
  const why = useWhy();
  const now = new Date();
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const placedToday = counts.counts
    .filter(({ hour, state }) => state === "PLACED" && Date.parse(hour) + hourMs > midnight)
    .reduce((sum, { count }) => sum + count, 0);
  const inState = (state: CallState) => addressOf("calls", { state });
  const currentIn = (state: CallState) => countText(current[state] ?? 0, most);
  return (
    <ul class="cards" aria-label="Now">
      <Card
        name="To review"
        value={currentIn("NEEDS_REVIEW")}
        href={addressOf("review")}
        isGrave={(current["NEEDS_REVIEW"] ?? 0) > 0}
      >
        need a decision
      </Card>
      <Stopped pauses={pauses} />
      <Card name="Dialing now" value={currentIn("DIALING")} href={inState("DIALING")}>
        {currentIn("UNKNOWN")} with an unknown outcome
      </Card>
      <Card name="Waiting" value={waitingText(why)} href={inState("WAITING")}>
        <CountedAt why={why} /> <OldestDue backlogs={backlogs} />
      </Card>
      <Card name="Placed today" value={countText(placedToday)} href={inState("PLACED")}>
        {last_sweep_at === null ? "no sweep yet" : `last sweep ${ageText(last_sweep_at)}`}
      </Card>
    </ul>
  );
}

/** Formats the number of waiting calls, which the reasons below the cards have too. */
function waitingText({ data, problem }: Live<Why>): string {
  if (data === undefined) return problem === undefined ? "…" : "not known";
  if (data.about !== null) return `about ${countText(data.about.calls)}`;
  return `${countText(data.calls)}${data.is_whole ? "" : "+"}`;
}

/** Age of the number of waiting calls, where it is one of the service's own rounds. */
function CountedAt({ why: { data } }: { why: Live<Why> }) {
  const at = data?.about?.at;
  return at === undefined ? null : (
    <>
      counted <Age at={at} />,{" "}
    </>
  );
}

/** Cards of open breakers and pauses, which keep calls from being dialed. */
function Stopped({ pauses }: { pauses: Live<Pauses> }) {
  const open = pauses.data?.breakers.length ?? 0;
  const paused = pauses.data?.pauses.length ?? 0;
  const href = addressOf("accounts");
  if (pauses.data === undefined && pauses.problem !== undefined) {
    return (
      <Card name="Breakers and pauses" value="not known" href={href} isGrave>
        they could not be read
      </Card>
    );
  }
  return (
    <>
      <Card
        name="Breakers open"
        value={pauses.data === undefined ? "…" : countText(open)}
        href={href}
        isGrave={open > 0}
      >
        {pauses.data === undefined
          ? null
          : open > 0
            ? "a provider is failing"
            : "no provider is failing"}
      </Card>
      <Card name="Paused" value={pauses.data === undefined ? "…" : countText(paused)} href={href}>
        agents, accounts and clients
      </Card>
    </>
  );
}

/** Due time of the oldest waiting call. */
function OldestDue({ backlogs }: { backlogs: Live<Backlogs> }) {
  if (backlogs.data === undefined && backlogs.problem !== undefined) {
    return <>the oldest could not be read</>;
  }
  const oldest = backlogs.data?.oldest_due_at ?? null;
  if (oldest === null) return null;
  const isDue = Date.parse(oldest) <= Date.now();
  return (
    <>
      {isDue ? "the oldest was due" : "the next is due"} <Age at={oldest} />
    </>
  );
}
