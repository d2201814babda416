import { useState } from "preact/hooks";
import type { Results } from "#shared/answers/answers.ts";
import { Chart } from "../parts/chart.tsx";
import { Shown, useLive } from "../parts/desk.tsx";
import { lengthText, outcomes, outcomeText, rateText, resultNames } from "../parts/result-texts.ts";
import { countText, Table, Time } from "../parts/shared.tsx";

const hourMs = 3_600_000;
const refreshMs = 20_000;
/** Hours of each period, up to now. The hours are whole ones, as usage is counted by them. */
const periods = { "3": "3 hours", "24": "24 hours", "168": "7 days" } as const;
type Period = keyof typeof periods;
const groups = { agent: "agent", client: "client", campaign: "campaign" } as const;
type By = keyof typeof groups;

/** Results of a period that the operator chooses: numbers, a chart of ends, and a table. */
export function ResultsOfCalls() {
  const [period, setPeriod] = useState<Period>("24");
  const [by, setBy] = useState<By>("agent");
  const hour = Math.floor(Date.now() / hourMs) * hourMs;
  const from = new Date(hour - (Number(period) - 1) * hourMs).toISOString();
  const results = useLive<Results>(`/results?from=${from}&by=${by}`, refreshMs);
  return (
    <section class="card" aria-labelledby="day">
      <div class="line spread">
        <h3 id="day">Last {periods[period]}</h3>
        <div class="line">
          <Choice<Period> name="Period" value={period} options={periods} choose={setPeriod} />
          <Choice<By> name="Group by" value={by} options={groups} choose={setBy} />
        </div>
      </div>
      <Shown live={results} what="The results">
        {(data) => (
          <>
            {Date.parse(data.from) > Date.parse(from) ? (
              <p class="problem">
                There is too much to read: these are the calls since <Time at={data.from} />.
              </p>
            ) : null}
            <Totals total={data.total} />
            <Ends results={data} period={periods[period]} />
            <Rows results={data} by={by} />
          </>
        )}
      </Shown>
    </section>
  );
}

/** A labelled list of options. */
function Choice<Option extends string>({
  name,
  value,
  options,
  choose,
}: {
  name: string;
  value: Option;
  options: Readonly<Record<Option, string>>;
  choose(option: Option): void;
}) {
  const names = Object.keys(options).filter((one): one is Option => one in options);
  return (
    <label>
      {name}
      <select
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = names.find((one) => one === currentTarget.value);
          if (chosen !== undefined) choose(chosen);
        }}
      >
        {names.map((one) => (
          <option key={one} value={one}>
            {options[one]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The numbers of results, each with its name. */
export function Totals({ total }: { total: Results["total"] }) {
  const { results, by_person, answer_rate, opted_out, mean_seconds } = total;
  const rate = answer_rate === null ? "" : `${rateText(answer_rate)} of known results`;
  const length = mean_seconds === null ? "" : `, ${lengthText(mean_seconds)} on average`;
  const isOther = by_person > 0 && by_person < results.completed;
  const person = isOther ? `, ${countText(by_person)} certainly by a person` : "";
  const facts: [name: string, value: string, hint: string][] = [
    [resultNames.completed, countText(results.completed), rate + length + person],
    [resultNames.voicemail, countText(results.voicemail), "a machine answered"],
    [resultNames.no_answer, countText(results.no_answer), "nobody answered"],
    [resultNames.busy, countText(results.busy), ""],
    [resultNames.declined, countText(results.declined), ""],
    ["Opted out", countText(opted_out), "asked not to be called"],
    ...costFacts(total.cost),
  ];
  return (
    <ul class="cards" aria-label="Results">
      {facts.map(([name, value, hint]) => (
        <li key={name + value}>
          <div class="fact">
            <span>{name}</span> <b>{value}</b> <span class="hint">{hint}</span>
          </div>
        </li>
      ))}
    </ul>
  );
}

/** The costs by currency, if any provider reported one. */
function costFacts(cost: Results["total"]["cost"]): [name: string, value: string, hint: string][] {
  return cost.map(({ amount, currency }) => [
    "Cost",
    `${amount} ${currency}`,
    "where the provider reports it",
  ]);
}

/** The ends of calls over time. */
function Ends({ results, period }: { results: Results; period: string }) {
  const { ends, minutes, to } = results;
  const stepMs = minutes * 60_000;
  const from = Date.parse(results.from);
  const series = outcomes.map((outcome) => ({
    name: outcomeText(outcome),
    class: outcome,
    values: new Map(
      ends
        .filter((one) => one.outcome === outcome)
        .map(({ at, count }) => [Date.parse(at), count] as const),
    ),
  }));
  if (ends.length === 0) return <p>No call has ended in the last {period}.</p>;
  return (
    <Chart
      series={series}
      from={from}
      hours={Math.floor((Date.parse(to) - from) / stepMs) + 1}
      stepMs={stepMs}
      label="Calls that ended, each counted once"
    />
  );
}

type Row = Results["rows"][number];

function nameOf({ client, agent_id, campaign }: Row, by: By): string {
  if (by === "campaign") return `${campaign ?? "without a campaign"} (${client ?? ""})`;
  return (by === "agent" ? agent_id : client) ?? "";
}

/** The results by agent, client or campaign. */
function Rows({ results: { rows, rows_left_out }, by }: { results: Results; by: By }) {
  if (rows.length === 0) return null;
  const columns = [
    by[0]?.toUpperCase() + by.slice(1),
    "Placed",
    ...Object.values(resultNames).slice(0, 5),
    "Answer rate",
    "Mean length",
    "Opted out",
    "Not placed",
  ];
  return (
    <>
      <Table label={`Results by ${by}`} columns={columns}>
        {rows.map((row) => (
          <ResultRow key={nameOf(row, by)} name={nameOf(row, by)} row={row} />
        ))}
      </Table>
      {rows_left_out === 0 ? null : (
        <p class="hint">{countText(rows_left_out)} rows with fewer placed calls are left out.</p>
      )}
    </>
  );
}

function ResultRow({ name, row }: { name: string; row: Row }) {
  const { results, placed, rejected, expired, cancelled } = row;
  const { completed, voicemail, no_answer, busy, declined } = results;
  return (
    <tr>
      <th scope="row">{name}</th>
      {[placed, completed, voicemail, no_answer, busy, declined].map((count, index) => (
        <td class="figure" key={index}>
          {countText(count)}
        </td>
      ))}
      <td class="figure">{rateText(row.answer_rate)}</td>
      <td class="figure">{lengthText(row.mean_seconds)}</td>
      <td class="figure">{countText(row.opted_out)}</td>
      <td class="figure">{countText(rejected + expired + cancelled)}</td>
    </tr>
  );
}
