import type {
  AccountForecast,
  Forecast,
  ForecastItem,
  ForecastSummary,
  Outcome,
} from "#shared/answers/answers.ts";
import { Chart } from "../parts/chart.tsx";
import { Held } from "../parts/why.tsx";
import { counted, countText, Reason, Table, Time } from "../parts/shared.tsx";

const hourMs = 3_600_000;
/** Maximum hours of the curve, and maximum calls that are listed. */
const hoursMax = 14 * 24;
const itemsShown = 200;
/** Colours of a curve's series. */
const colours = 4;

const outcomes: readonly Outcome[] = ["now", "wait", "blocked", "expire", "rejected", "refused"];
const outcomeNames: Record<Outcome, string> = {
  now: "Dialed at once",
  wait: "Dialed later",
  blocked: "Blocked",
  expire: "Expire",
  rejected: "Never dialed",
  refused: "Refused",
};
/** Place of a call in its file, for people, and the name of such places. */
interface Places {
  name: string;
  of(index: number): number;
}

function placesIn(lines: readonly number[] | undefined): Places {
  return lines === undefined
    ? { name: "Position", of: (index) => index + 1 }
    : { name: "Line", of: (index) => lines[index] ?? index + 1 };
}

/** The forecast of a batch: outcomes, a curve of calls by hour, delays, and refused calls. */
export function ForecastAnswer({
  answer,
  lines,
}: {
  answer: Forecast;
  /** Line of each call in the file. Absent: the calls stand there as they were asked about. */
  lines?: readonly number[];
}) {
  const { deployed, items = [] } = answer;
  const places = placesIn(lines);
  return (
    <>
      <section class="card" aria-labelledby="outcomes">
        <h3 id="outcomes">Outcome of {counted(answer.calls, "call")}</h3>
        <Outcomes answer={answer} deployed={deployed} />
        {answer.later_tries === undefined ? null : (
          <p class="hint">
            Up to {countText(answer.later_tries)} later tries by the agents' retry are not included.
          </p>
        )}
        {answer.many_zones === undefined ? null : (
          <p class="hint">
            {counted(answer.many_zones.calls, "call")} may ring in up to {answer.many_zones.zones}{" "}
            time zones at once, so hours must be open in all of them. Send their time zones.
          </p>
        )}
        {answer.unread === 0 ? null : (
          <p class="problem">
            {countText(answer.unread)} of them, the first at {places.name.toLowerCase()}{" "}
            {countText(places.of(answer.unread_from ?? 0))}, were not compared with the do-not-call
            list and the caps: there was not enough time, or the ledger failed. Try again, or with
            fewer calls.
          </p>
        )}
      </section>
      <Curve summary={answer} />
      <Limits summary={answer} />
      <Problems items={items} reasons={answer.reasons} places={places} />
    </>
  );
}

function Outcomes({
  answer,
  deployed,
}: {
  answer: Forecast;
  deployed: ForecastSummary | undefined;
}) {
  const plans = deployed === undefined ? [answer] : [answer, deployed];
  const columns = [
    "Outcome",
    ...(deployed === undefined ? ["Calls"] : ["This plan", "Today's plan"]),
  ];
  return (
    <>
      <Table label="Outcomes" columns={columns}>
        {outcomes.map((outcome) => (
          <tr key={outcome}>
            <th scope="row">{outcomeNames[outcome]}</th>
            {plans.map(({ counts }, index) => (
              <td class="figure" key={columns[index + 1]}>
                {countText(counts[outcome])}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {plans.map(({ first_at, last_at }, index) =>
        first_at === null ? null : (
          <p key={columns[index + 1]}>
            {plans.length === 1 ? "Dialed" : columns[index + 1]}: from <Time at={first_at} /> to{" "}
            <Time at={last_at} />.
          </p>
        ),
      )}
    </>
  );
}

function Curve({ summary: { hours } }: { summary: ForecastSummary }) {
  const [first, last] = [hours[0], hours.at(-1)];
  if (first === undefined || last === undefined) return null;
  const from = Date.parse(first.hour);
  const span = (Date.parse(last.hour) - from) / hourMs + 1;
  const accounts = [...new Set(hours.map(({ account }) => account))];
  return (
    <section class="card" aria-labelledby="curve">
      <h3 id="curve">Calls by the hour</h3>
      <Chart
        label="Calls by the hour in which they would be dialed"
        from={from}
        hours={Math.min(hoursMax, Math.max(12, span))}
        series={accounts.map((account, index) => ({
          name: account,
          class: `series-${index % colours}`,
          values: new Map(
            hours
              .filter((one) => one.account === account)
              .map(({ hour, calls }) => [Date.parse(hour), calls] as const),
          ),
        }))}
      />
      {span > hoursMax ? <p class="hint">The first 14 days are shown.</p> : null}
    </section>
  );
}

function Limits({ summary: { accounts, rules } }: { summary: ForecastSummary }) {
  return (
    <section class="card" aria-labelledby="limits">
      <h3 id="limits">What limits the calls</h3>
      <Table
        label="Accounts of the forecast"
        columns={[
          "Account",
          "Calls",
          "First",
          "Last",
          "Delayed most by",
          "Already waiting",
          "Until",
        ]}
      >
        {accounts.map((one) => (
          <AccountRow key={one.account} account={one} />
        ))}
      </Table>
      {rules.length === 0 ? null : (
        <Table label="Rules of the forecast" columns={["Rule", "Delayed calls", "Longest delay"]}>
          {rules.map(({ limit, rule, calls, seconds_max }) => (
            <tr key={`${limit} ${rule}`}>
              <th scope="row">
                <Held reason={limit} name={rule} />
              </th>
              <td class="figure">{countText(calls)}</td>
              <td class="figure">{delayText(seconds_max)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

function AccountRow({ account: of }: { account: AccountForecast }) {
  const { account, calls, first_at, last_at, limit, rule, seen_calls_per_second, waiting } = of;
  return (
    <tr>
      <th scope="row">{account ?? "no route"}</th>
      <td class="figure">{countText(calls)}</td>
      <td>
        <Time at={first_at} />
      </td>
      <td>
        <Time at={last_at} />
      </td>
      <td class="texts">
        {limit === null ? "nothing" : <Held reason={limit} name={rule ?? ""} />}
        {seen_calls_per_second === null
          ? null
          : ` (${seen_calls_per_second.toLocaleString()} a second seen)`}
      </td>
      <td class="figure">
        {countText(waiting.calls)}
        {waiting.is_whole ? "" : "+"}
      </td>
      <td>
        <Time at={waiting.last_at} />
      </td>
    </tr>
  );
}

function delayText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

function Problems({
  items,
  reasons,
  places,
}: {
  items: readonly ForecastItem[];
  reasons: ForecastSummary["reasons"];
  places: Places;
}) {
  if (reasons.length === 0) return null;
  return (
    <section class="card" aria-labelledby="problems">
      <h3 id="problems">Not dialed, and why</h3>
      <ul class="rows">
        {reasons.map(({ outcome, reason, calls }) => (
          <li key={`${outcome} ${reason}`}>
            <span>
              {outcomeNames[outcome]}: <Reason code={reason} />
            </span>
            <span>{countText(calls)}</span>
          </li>
        ))}
      </ul>
      <Table
        label="Calls that are not dialed"
        columns={[`${places.name} in the file`, "Outcome", "Why"]}
      >
        {items.slice(0, itemsShown).map(({ index, outcome, reason, errors = [] }) => (
          <tr key={index}>
            <th scope="row">{countText(places.of(index))}</th>
            <td>{outcomeNames[outcome]}</td>
            <td>
              {reason ??
                errors.map(({ pointer, detail }) => `${fieldIn(pointer)} ${detail}`).join("; ")}
            </td>
          </tr>
        ))}
      </Table>
      {items.length > itemsShown ? (
        <p class="hint">
          The first {itemsShown} of {countText(items.length)}.
        </p>
      ) : null}
    </section>
  );
}

/** Returns the field of a pointer such as `/12/phone_number`. */
function fieldIn(pointer: string): string {
  return pointer.split("/").slice(2).join("/");
}
