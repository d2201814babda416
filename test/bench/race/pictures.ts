/** Pictures of the race as SVG, which follow the reader's light or dark setting. */
import { summary } from "../measure.ts";
import type { Figures } from "./figures.ts";
import { byEngine, type Run } from "./tables.ts";

const width = 760;
const left = 150;
const right = 20;
const style = `<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 14px } .small { font-size: 11px; fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 } .band { fill: #f0d9a8; opacity: .5 }
  .a { fill: #0969da; stroke: #0969da } .b { fill: #bc4c00; stroke: #bc4c00 } .c { fill: #8c959f; stroke: #8c959f }
  .page { fill: #ffffff } .line { fill: none; stroke: #0969da; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 } .grid { stroke: #3d444d } .band { fill: #5a4a1f }
    .a { fill: #4493f8; stroke: #4493f8 } .b { fill: #f0883e; stroke: #f0883e } .c { fill: #656c76; stroke: #656c76 }
    .page { fill: #0d1117 } .line { stroke: #4493f8 }
  }
</style>`;

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const text = (x: number, y: number, words: string, rest = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${rest}>${escaped(words)}</text>`;
const rectangle = (x: number, y: number, w: number, h: number, kind: string) =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0, w).toFixed(1)}" height="${h.toFixed(1)}" class="${kind}"/>`;
const rule = (x1: number, y1: number, x2: number, y2: number) =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="grid"/>`;

function page(height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
${style}
${[rectangle(0, 0, width, height, "page"), text(14, 24, title, 'class="title"'), ...parts].join("\n")}
</svg>
`;
}

const median = (all: readonly Figures[], of: (one: Figures) => number) =>
  summary(all.map(of)).median;

/** Marks p50, p95 and p99 of acceptance and of accept to dial on a logarithmic scale, a row an engine. */
export function latencyPicture(runs: readonly Run[]): string {
  const rows = byEngine(runs);
  const [rowHeight, top, decades] = [46, 64, 6];
  const bottom = top + rows.length * rowHeight;
  const x = (ms: number) => left + (Math.log10(Math.max(1, ms)) / decades) * (width - left - right);
  const ticks = ["1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"].flatMap((words, n) => [
    rule(x(10 ** n), top - 8, x(10 ** n), bottom),
    text(x(10 ** n), bottom + 16, words, 'class="small" text-anchor="middle"'),
  ]);
  const marks = rows.flatMap(([engine, all], n) => {
    const y = top + n * rowHeight + 12;
    const series = [
      ["acceptMs", "a"],
      ["dialMs", "b"],
    ] as const;
    return [
      text(left - 10, y + 12, engine, 'text-anchor="end"'),
      ...series.flatMap(([name, kind], which) => {
        const [p50, p95, p99] = (["p50", "p95", "p99"] as const).map((one) =>
          x(median(all, (figures) => figures[name][one])),
        );
        const at = y + which * 16;
        return [
          rectangle(p50 ?? 0, at - 1, (p99 ?? 0) - (p50 ?? 0), 2, kind),
          ...[p50, p95, p99].map(
            (one, nth) =>
              `<circle cx="${(one ?? 0).toFixed(1)}" cy="${at}" r="${5 - nth}" class="${kind}"/>`,
          ),
        ];
      }),
    ];
  });
  const legend = [
    `<circle cx="${left + 4}" cy="40" r="5" class="a"/>`,
    text(left + 14, 44, "acceptance"),
    `<circle cx="${left + 104}" cy="40" r="5" class="b"/>`,
    text(left + 114, 44, "accept to dial; the dots are p50, p95 and p99"),
  ];
  return page(bottom + 28, "Under kills: how long a call takes", [...ticks, ...marks, ...legend]);
}

/** Draws people phoned per second, an engine below the other, with bands for the hang and the outage. */
export function ratePicture(runs: readonly Run[]): string {
  const rows = byEngine(runs).flatMap(([, all]) => all[0] ?? []);
  const [rowHeight, top] = [62, 50];
  const bottom = top + rows.length * rowHeight;
  const seconds = Math.max(
    ...rows.map(({ perSecond, phases }) => Math.max(perSecond.length, phases.well)),
  );
  const most = Math.min(60, Math.max(...rows.flatMap(({ perSecond }) => perSecond)));
  const x = (second: number) => left + (second / seconds) * (width - left - right);
  const parts = rows.flatMap(({ engine, perSecond, phases }, n) => {
    const floor = top + (n + 1) * rowHeight - 8;
    const y = (rate: number) => floor - (Math.min(rate, most) / most) * (rowHeight - 14);
    const points = Array.from({ length: Math.ceil(seconds) }, (_, second) => perSecond[second] ?? 0)
      .map((rate, second) => `${x(second).toFixed(1)},${y(rate).toFixed(1)}`)
      .join(" ");
    const bandTop = floor - rowHeight + 14;
    return [
      rectangle(x(phases.hang), bandTop, x(phases.busy) - x(phases.hang), rowHeight - 14, "band"),
      rectangle(
        x(phases.busy) + 1,
        bandTop,
        x(phases.well) - x(phases.busy) - 1,
        rowHeight - 14,
        "band",
      ),
      rule(left, floor, width - right, floor),
      `<polyline points="${points}" class="line"/>`,
      text(left - 10, floor - 16, engine, 'text-anchor="end"'),
      ...(n === 0
        ? [
            text(
              x((phases.hang + phases.busy) / 2),
              top,
              "hangs",
              'class="small" text-anchor="middle"',
            ),
            text(
              x((phases.busy + phases.well) / 2),
              top,
              "answers 429",
              'class="small" text-anchor="middle"',
            ),
          ]
        : []),
    ];
  });
  const ticks = Array.from({ length: Math.floor(seconds / 60) + 1 }, (_, minute) =>
    text(x(minute * 60), bottom + 12, `${minute} min`, 'class="small" text-anchor="middle"'),
  );
  return page(
    bottom + 24,
    `People phoned a second, up to ${most}: kills, a hang, an outage, and after`,
    [...parts, ...ticks],
  );
}

/** Draws bars of people phoned twice, lost and left for a person. */
export function fatesPicture(runs: readonly Run[]): string {
  const rows = byEngine(runs);
  const [rowHeight, top] = [56, 58];
  const series = [
    ["phoned twice", "b", ({ twice }: Figures) => twice],
    ["lost", "a", ({ lost }: Figures) => lost],
    ["left for a person", "c", (one: Figures) => one.left],
  ] as const;
  const most = Math.max(1, ...rows.flatMap(([, all]) => series.map(([, , of]) => median(all, of))));
  const parts = rows.flatMap(([engine, all], n) => {
    const y = top + n * rowHeight;
    return [
      text(left - 10, y + 26, engine, 'text-anchor="end"'),
      ...series.flatMap(([, kind, of], which) => {
        const amount = median(all, of);
        const length = (amount / most) * (width - left - right - 50);
        return [
          rectangle(left, y + which * 15, length, 12, kind),
          text(left + length + 6, y + which * 15 + 10, String(amount), 'class="small"'),
        ];
      }),
    ];
  });
  const legend = series.flatMap(([words, kind], which) => [
    rectangle(left + which * 130, 36, 10, 10, kind),
    text(left + which * 130 + 16, 45, words),
  ]);
  const height = top + rows.length * rowHeight + 8;
  return page(height, "Of 2,000 people", [...legend, ...parts]);
}
