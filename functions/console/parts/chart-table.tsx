/** One series of a chart: its name, the class that colours it, and its values by hour. */
export interface Series {
  name: string;
  class: string;
  /** Values by the start of their hour, in milliseconds since the epoch. */
  values: ReadonlyMap<number, number>;
}

/** Describes an hour of the day, in the browser's time zone. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

export function day(at: number): string {
  const style = { weekday: "short", day: "numeric", month: "short" } as const;
  return new Date(at).toLocaleDateString(undefined, style);
}

/** The names of the series, each with its colour and the sum of its values. */
export function Legend({ series, hours }: { series: readonly Series[]; hours: readonly number[] }) {
  const sumOf = ({ values }: Series) =>
    hours.reduce((sum, hour) => sum + (values.get(hour) ?? 0), 0);
  return (
    <ul class="legend">
      {series.map((one) => (
        <li key={one.name}>
          <span class={`dot ${one.class}`} aria-hidden="true" /> {one.name}{" "}
          {sumOf(one).toLocaleString()}
        </li>
      ))}
    </ul>
  );
}

const hourMs = 3_600_000;

/** The units of a chart's axes. */
export function Units({ stepMs }: { stepMs: number }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const step = stepMs === hourMs ? "the hour" : `${stepMs / 60_000} minutes`;
  return (
    <p class="hint">
      Number of calls by {step}. Times are in {timeZone}.
    </p>
  );
}

/** The values of a chart as a table, for those who cannot see it. */
export function HoursTable({
  series,
  hours,
  stepMs,
}: {
  series: readonly Series[];
  hours: readonly number[];
  stepMs: number;
}) {
  return (
    <details>
      <summary>As a table</summary>
      <table>
        <thead>
          <tr>
            {[stepMs === hourMs ? "Hour" : "From", ...series.map(({ name }) => name)].map(
              (name) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {hours.map((hour) => (
            <tr key={hour}>
              <th scope="row">{`${day(hour)}, ${clock(hour)}`}</th>
              {series.map(({ name, values }) => (
                <td key={name}>{values.get(hour) ?? 0}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
