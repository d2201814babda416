/** Counts what it takes to ask about ten thousand calls that stay open for four hours, on both platforms' engines. */
import { startSide } from "./processes.ts";
import { report, table } from "./report.ts";
import type { Counted } from "./meter.ts";
import { waitMinutes } from "./told-service.ts";

/** Number of calls, and minutes in which they are placed: as by a pace of some three a second. */
const openCalls = 10_000;
const placedMinutes = 60;

/** Counts and times of one platform. */
export interface Asked {
  counted: Counted;
  /** Requests to the provider. */
  requests: number;
  /** Times of the sweeps, and times by the clock that asking took after each, in milliseconds. */
  sweepsMs: number[];
  askedMs: number[];
}

const whole = (amount = 0) => Math.round(amount).toLocaleString("en");
const inSeconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;
const median = (numbers: number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const platforms = [
  ["Cloudflare: rows of D1", "d1RowsWritten", "d1RowsRead"],
  ["AWS: units of DynamoDB", "dynamoWriteUnits", "dynamoReadUnits"],
] as const;
const rows = await Promise.all(
  platforms.map(async ([name, written, read]) => {
    const side = await startSide("../open-calls-side.ts");
    const question = { ask: name.split(":")[0], openCalls, placedMinutes };
    const { counted, requests, sweepsMs, askedMs } = await side.ask<Asked>(question);
    side.stop();
    return [
      name,
      ...[requests, counted[written], counted[read], counted["eventMessages"]].map(whole),
      `${whole(median(sweepsMs))} ms`,
      `${whole(Math.max(...sweepsMs))} ms`,
      inSeconds(Math.max(...askedMs)),
    ];
  }),
);

report({
  title: "Open calls",
  text: [
    `${whole(openCalls)} calls of one account, placed within ${placedMinutes} minutes, none of which ends: what it takes to ask about all of them until the result of the last one is \`unknown\`, ${waitMinutes} minutes after it was placed. The provider is a stand-in of Twilio, reached by HTTP, which is asked twenty times a second at most.`,
    table(
      [
        "",
        "requests to the provider",
        "written",
        "read",
        "messages",
        "sweep, median",
        "longest sweep",
        "longest asking of a minute",
      ],
      rows,
    ),
  ].join("\n\n"),
  targets: [],
});
