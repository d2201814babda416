import { cpus } from "node:os";
import type { LoadResult } from "./run.ts";
import type { AcceptedRequest } from "./stream.ts";

type Row = [name: string, text: (result: LoadResult) => string];

const rows: Row[] = [
  ["minutes of load", ({ minutes }) => minutes.toFixed(1)],
  ["requests: single, batch", requestsText],
  ["calls accepted", ({ account }) => numberText(account.accepted)],
  ["dialed", ({ account }) => numberText(account.dialed)],
  ["answered 429 at first", ({ account }) => numberText(account.deferred)],
  ["NEEDS_REVIEW, dialed", ({ account }) => numberText(account.needReview.dialed)],
  ["NEEDS_REVIEW, not dialed", ({ account }) => numberText(account.needReview.undialed)],
  ["of these answered 429 before", ({ account }) => numberText(account.needReview.deferred)],
  ["**dialed twice**", ({ account }) => `**${numberText(account.twice.length)}**`],
  ["**lost**", ({ account }) => `**${numberText(account.lost.length)}**`],
  ["`kill -9` of a function's process", ({ functionKills }) => numberText(functionKills)],
  ["`kill -9` of everything", ({ kills }) => numberText(kills.length)],
  ["calls waiting then", ({ kills }) => listText(kills.map(({ waiting }) => waiting))],
  ["seconds to restart", ({ kills }) => listText(kills.map(({ seconds }) => Math.round(seconds)))],
  ["requests repeated until answered", repeatedText],
  ["201 at once: p50, p95, p99, max in ms", atOnceText],
  ["201 at last: the same", ({ requests }) => percentilesText(requests)],
  ["seconds until the last call had ended", ({ settleSeconds }) => settleSeconds.toFixed(0)],
  ["resident memory", (result) => memoryText(result, "all")],
  ["of it the functions'", (result) => memoryText(result, "functions")],
];
/** Rows shown only if their count is not zero. */
const rareRows: [...Row, (account: LoadResult["account"]) => number][] = (
  [
    ["not ended in time", ({ open }) => open],
    ["ended otherwise, the whole call kept", ({ endedOtherwise }) => endedOtherwise],
    ["dialed, and not in the ledger", ({ unrecorded }) => unrecorded.length],
  ] satisfies [string, (account: LoadResult["account"]) => number][]
).map(([name, count]) => [name, ({ account }) => numberText(count(account)), count]);

/** Formats the results as Markdown, with a column per platform. */
export function tableOf(results: readonly LoadResult[]): string {
  const rare = rareRows.filter(([, , count]) => results.some(({ account }) => count(account) > 0));
  const lines = [
    ["", ...results.map(({ platform }) => platform)],
    ["---", ...results.map(() => "---")],
    ...[...rows, ...rare].map(([name, text]) => [name, ...results.map(text)]),
  ];
  const table = lines.map((cells) => `| ${cells.join(" | ")} |`);
  return [...table, "", ...notesOf(results).map((line) => `- ${line}`)].join("\n");
}

function notesOf(results: readonly LoadResult[]): string[] {
  const notes = [
    `Node ${process.version} on ${process.platform}; the load, the receiver and all local engines share ` +
      `${cpus().length} cores.`,
    "Times are from when a request was due, not from when it was sent; a batch counts as one request.",
    '"At once" are those answered 201 at the first attempt; "at last" are all, with those that a kill cut off or ' +
      "answered 5XX, repeated under their Idempotency-Key until 201.",
    "NEEDS_REVIEW: the outcome is unknown after a kill, and a person decides. Not dialed are those that were claimed and " +
      "not sent, or answered 429, which nobody was left to write down.",
    "Memory: the longest life of the service, from 15 s after its start on, under load. The sum counts the local " +
      "engines, which keep their data in these processes; workerd, too, holds its engines beside the functions.",
  ];
  const paused = results.find(({ pausedSeconds }) => pausedSeconds > 0);
  if (paused !== undefined) {
    notes.push(
      `${paused.platform}: the local queue is in memory, unlike the real one, so a kill would lose what only that ` +
        "has. Before each kill nothing was posted until every accepted call had a row " +
        `(${paused.pausedSeconds.toFixed(0)} s in all). What is tried are rows, claims and requests, not the queue.`,
    );
  }
  return notes;
}

const numberText = (number: number) => number.toLocaleString("en");
const listText = (numbers: number[]) => numbers.map(numberText).join(", ") || "none";

function requestsText({ requests }: LoadResult): string {
  const batches = requests.filter(({ count }) => count > 1).length;
  return `${numberText(requests.length - batches)}, ${numberText(batches)}`;
}

const wasAnsweredAtOnce = ({ unreachable }: AcceptedRequest) => unreachable === 0;

function repeatedText({ requests }: LoadResult): string {
  return numberText(requests.filter((one) => !wasAnsweredAtOnce(one)).length);
}

function atOnceText({ requests }: LoadResult): string {
  return percentilesText(requests.filter(wasAnsweredAtOnce));
}

function percentilesText(requests: readonly AcceptedRequest[]): string {
  const sorted = requests.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return listText([0.5, 0.95, 0.99, 1].map((share) => Math.round(at(share))));
}

function memoryText({ memory }: LoadResult, whose: "all" | "functions"): string {
  const longest = memory.toSorted((a, b) => b.length - a.length)[0] ?? [];
  const [start, end] = [longest[0], longest.at(-1)];
  if (start === undefined || end === undefined || start === end) return "n/a";
  const mebibytes = (bytes: number) => Math.round(bytes / 1024 / 1024);
  const text = `${mebibytes(start[whose])} → ${mebibytes(end[whose])} MiB`;
  if (whose === "functions") return text;
  const seconds = Math.round(end.seconds - start.seconds);
  return `${text} in ${seconds} s (${end.processes} processes)`;
}
