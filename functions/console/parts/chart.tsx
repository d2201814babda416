import { useEffect, useRef, useState } from "preact/hooks";
import { clock, day, HoursTable, Legend, type Series, Units } from "./chart-table.tsx";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const height = 220;
const edges = { left: 44, right: 8, top: 12, bottom: 40 };

/** Returns the steps of an axis from 0 to at least `most`: at most five, each a 1, 2 or 5 with zeros. */
function stepsTo(most: number): number[] {
  const rough = Math.max(1, most) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough) ?? 1);
  return Array.from({ length: Math.ceil(Math.max(1, most) / step) + 1 }, (_, n) => n * step);
}

/** Returns the width of an element, and renders again when it changes, so that the text of a drawing keeps its size. */
function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { frame, width };
}

/** Coordinates of a chart's bars and values. */
interface Scale {
  width: number;
  /** Width of a bar. */
  each: number;
  xOf(index: number): number;
  yOf(value: number): number;
}

function createScale({ width, count, top }: { width: number; count: number; top: number }): Scale {
  const each = (width - edges.left - edges.right) / count;
  return {
    width,
    each,
    xOf: (index) => edges.left + index * each,
    yOf: (value) => height - edges.bottom - (value / top) * (height - edges.top - edges.bottom),
  };
}

/** Stacked bars by hour, or by `stepMs`, with axes, in the browser's time zone, and the same as a table. */
export function Chart({
  series,
  from,
  hours: count,
  stepMs = hourMs,
  label,
}: {
  series: readonly Series[];
  /** Start of the first bar, in milliseconds since the epoch. */
  from: number;
  /** Number of bars. */
  hours: number;
  stepMs?: number;
  label: string;
}) {
  const { frame, width } = useWidth();
  const hours = Array.from({ length: count }, (_, n) => from + n * stepMs);
  const used = series.filter(({ values }) => hours.some((hour) => (values.get(hour) ?? 0) > 0));
  const sumOf = (hour: number) => used.reduce((sum, one) => sum + (one.values.get(hour) ?? 0), 0);
  const steps = stepsTo(Math.max(...hours.map(sumOf)));
  const scale = createScale({ width, count, top: steps.at(-1) ?? 1 });
  return (
    <div ref={frame}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${label}; the table below says the same`}
      >
        <Steps steps={steps} scale={scale} />
        {hours.map((hour, index) => (
          <Bar key={hour} hour={hour} series={used} x={scale.xOf(index)} scale={scale} />
        ))}
        <Hours hours={hours} stepMs={stepMs} scale={scale} />
        <text x={0} y={height - 6}>
          calls
        </text>
      </svg>
      <Units stepMs={stepMs} />
      <Legend series={used} hours={hours} />
      <HoursTable series={used} hours={hours.filter((hour) => sumOf(hour) > 0)} stepMs={stepMs} />
    </div>
  );
}

/** The axis of the values: a line for each step. */
function Steps({ steps, scale: { width, yOf } }: { steps: readonly number[]; scale: Scale }) {
  return steps.map((step) => (
    <g key={step}>
      <line x1={edges.left} x2={width - edges.right} y1={yOf(step)} y2={yOf(step)} />
      <text x={edges.left - 6} y={yOf(step) + 4} text-anchor="end">
        {step.toLocaleString()}
      </text>
    </g>
  ));
}

/** The stacked values of one bar. */
function Bar({
  hour,
  series,
  x,
  scale: { each, yOf },
}: {
  hour: number;
  series: readonly Series[];
  x: number;
  scale: Scale;
}) {
  let below = 0;
  return series.map((one) => {
    const value = one.values.get(hour) ?? 0;
    const start = below;
    below += value;
    if (value === 0) return null;
    return (
      <rect
        key={one.name}
        class={`fill ${one.class}`}
        x={x + each * 0.1}
        y={yOf(below)}
        width={each * 0.8}
        height={yOf(start) - yOf(below)}
      >
        <title>{`${clock(hour)}: ${value} ${one.name}`}</title>
      </rect>
    );
  });
}

/** The time axis, with as many hours and days as fit. */
function Hours({
  hours,
  stepMs,
  scale: { each, xOf },
}: {
  hours: readonly number[];
  stepMs: number;
  scale: Scale;
}) {
  const step = stepMs / minuteMs;
  const labelEvery = ([1, 2, 3, 6, 12].find((n) => n * each >= 52) ?? 24) * step;
  const minutesOf = (at: number) => new Date(at).getHours() * 60 + new Date(at).getMinutes();
  // In zones such as India's, the hours of a chart begin at half past.
  const isNamed = (at: number, every: number) => minutesOf(at) % every < step;
  const midnights = hours.flatMap((hour, index) => (isNamed(hour, 24 * 60) ? index : []));
  const daysApart = Math.ceil(96 / (24 * each));
  const named = midnights.filter((_, n) => n % daysApart === 0);
  const days = (named[0] ?? hours.length) * each < 96 ? named : [0, ...named];
  return (
    <>
      {hours.map((hour, index) =>
        !isNamed(hour, labelEvery) ? null : (
          <text key={hour} x={xOf(index)} y={height - edges.bottom + 16} text-anchor="middle">
            {clock(hour)}
          </text>
        ),
      )}
      {days.map((index) => (
        <text key={index} class="day" x={xOf(index)} y={height - 6}>
          {day(hours[index] ?? 0)}
        </text>
      ))}
    </>
  );
}
