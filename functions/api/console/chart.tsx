import type { Counts } from "../operator/counts.ts";
import { names, states, Time } from "./shared.tsx";

/**
 * Age of the last sweep from which on a warning is shown. A sweep begins every minute, and waiting calls
 * depend on it.
 */
const sweepMsMax = 5 * 60_000;

function SweepWarning({ sweptAt }: { sweptAt: string | null }) {
  if (sweptAt === null) return <p class="hint">The sweep has not been round yet.</p>;
  if (Date.now() - Date.parse(sweptAt) < sweepMsMax) return null;
  return (
    <p class="problem">
      The sweep was last round at <Time at={sweptAt} />: calls that wait may not be dialed.
    </p>
  );
}

/**
 * Calls that reached each state in each of the last 24 hours, as a chart, and as a table for those who cannot
 * see it.
 */
export function Chart({ counts }: { counts: Counts | undefined }) {
  if (counts === undefined) return <section class="card">Loading …</section>;
  const end = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const hours = Array.from({ length: 24 }, (_, n) =>
    new Date(end - (23 - n) * 3_600_000).toISOString(),
  );
  const used = states.filter((state) => counts.counts.some((one) => one.state === state));
  const countOf = (hour: string, state: string) =>
    counts.counts.find((one) => one.hour === hour && one.state === state)?.count ?? 0;
  const most = Math.max(
    1,
    ...hours.map((hour) => used.reduce((sum, state) => sum + countOf(hour, state), 0)),
  );
  const hourText = (hour: string) =>
    new Date(hour).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return (
    <section class="card" aria-labelledby="chart">
      <h2 id="chart">Last 24 hours</h2>
      {counts.held_since === null ? (
        <SweepWarning sweptAt={counts.swept_at} />
      ) : (
        <p class="problem">
          The ledger was restored from a backup: nothing has been dialed since{" "}
          <Time at={counts.held_since} />. <code>npm run calls -- restored</code> says what to do.
        </p>
      )}
      <svg
        viewBox="0 0 240 62"
        role="img"
        aria-label="Calls by state and hour; the table below says the same"
      >
        {hours.map((hour, index) => {
          let top = 60;
          return used.map((state) => {
            const height = (countOf(hour, state) / most) * 58;
            top -= height;
            return height === 0 ? null : (
              <rect class={`fill ${state}`} x={index * 10 + 1} y={top} width={8} height={height} />
            );
          });
        })}
        <line x1="0" x2="240" y1="60.5" y2="60.5" />
      </svg>
      <ul class="legend">
        {used.map((state) => (
          <li>
            <span class={`dot ${state}`} aria-hidden="true" /> {names[state]}{" "}
            {counts.counts
              .filter((one) => one.state === state)
              .reduce((sum, one) => sum + one.count, 0)}
          </li>
        ))}
      </ul>
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Hour</th>
              {used.map((state) => (
                <th scope="col">{names[state]}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {hours
              .filter((hour) => used.some((state) => countOf(hour, state) > 0))
              .map((hour) => (
                <tr>
                  <th scope="row">{hourText(hour)}</th>
                  {used.map((state) => (
                    <td>{countOf(hour, state)}</td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}
