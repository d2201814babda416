import type { DialOutcome, FoundCall } from "../../shared/providers/provider.ts";
import type { AnswerFixture, FixtureSource, ResultFixture } from "../contracts/provider-bench.ts";
import { ambiguousWords } from "./provider-answers/ambiguous-words.ts";
import { answersOfProviders } from "./provider-answers/index.ts";
import { providerNotes } from "./provider-answers/notes.ts";
import { resultsOfProviders } from "./provider-results/index.ts";

/** Classes of outcomes, as docs/providers.md names them. */
export const classes: Record<DialOutcome["kind"], string> = {
  placed: "PLACED",
  rejected: "the call",
  not_placed: "later",
  account_refused: "the account",
  route_refused: "the route",
  forbidden: "a person",
  unknown: "unknown",
};

/** Returns the page of each provider, by its name under docs/providers. */
export function makeProviderPages(): Map<string, string> {
  return new Map(
    Object.keys(answersOfProviders).map((name) => [
      `${name.toLowerCase().replaceAll(" ", "-")}.md`,
      pageOf(name),
    ]),
  );
}

function pageOf(name: string): string {
  const { answers = [], lookUps = [] } = answersOfProviders[name] ?? {};
  const notes = providerNotes[name] ?? { answers: [], records: [] };
  const results = resultsOfProviders[name] ?? [];
  const words = ambiguousWords.filter(({ providers }) => providers.includes(name));
  const type = name.toLowerCase().replaceAll(" ", "-");
  const sections: [heading: string, lines: string[]][] = [
    ["What to know of its answers", notes.answers],
    ["How its answers are read", linesOf(answers.map(answerIn))],
    [
      "How a look-up reads its records",
      linesOf(lookUps.map(({ says, page, found }) => [foundAs(found), { text: says ?? page }])),
    ],
    ["What to know of its results", notes.records],
    [
      "How its results are read",
      linesOf(results.map(({ says, result }) => [statusOf(result), { text: says }])),
    ],
    [
      "Words that stand for several causes",
      words.map(
        ({ word, means, by, otherwise }) =>
          `${word}: ${means}. Told apart by ${by}. Otherwise ${otherwise}.`,
      ),
    ],
    ["Where this is from", originsOf(answers)],
  ];
  return [
    `# ${name}`,
    `This page is for engineers who want to know why an answer of ${name} led to a call's state. \`npm run pages\` makes it from what the adapter is tested with (\`test/support/provider-answers/${type}.ts\`): change that. What each class does to a call: [providers.md](../providers.md#what-providers-answer).`,
    ...sections
      .filter(([, lines]) => lines.length > 0)
      .map(([heading, lines]) => `## ${heading}\n\n${lines.map((line) => `- ${line}`).join("\n")}`),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function answerIn({ status, says, page, outcome }: AnswerFixture): [string, Item] {
  const ofNumber = outcome.kind === "rejected" && outcome.blamesNumber === true;
  const name = classes[outcome.kind];
  return [ofNumber ? `${name}'s number` : name, { status, text: says ?? page }];
}

function foundAs(found: FoundCall | undefined): string {
  if (found === undefined) return "undecided";
  if ("notPlaced" in found) return `not placed: ${classes[found.notPlaced.kind]}`;
  if (found.by === "id") return "PLACED";
  const { length } = found.providerCallIds;
  return length === 0 ? "undecided" : "a candidate";
}

function statusOf({ status, human }: ResultFixture["result"]): string {
  return human === true ? `\`${status}\`, a person` : `\`${status}\``;
}

/** An item of a line: what was answered, and its status if it has one. */
interface Item {
  text: string;
  status?: number;
}

/**
 * Returns a line for each class, with its items by status. Items that differ by a D-code or a SIP status alone become
 * one.
 */
function linesOf(items: [name: string, item: Item][]): string[] {
  return [...Map.groupBy(items, ([name]) => name)].map(([name, all]) => {
    const byStatus = Map.groupBy(
      all.map(([, item]) => item),
      ({ status }) => status,
    );
    const parts = [...byStatus].map(([status, same]) => {
      const texts = merged(same.map(({ text }) => text)).join("; ");
      return status === undefined ? texts : `${status} ${texts}`;
    });
    return `**${name}**: ${parts.join(". ")}.`;
  });
}

function merged(texts: string[]): string[] {
  const found = texts.map((text) => codePattern.exec(text) ?? [text]);
  const alike = Map.groupBy(found, ([whole, before, , after]) =>
    before === undefined ? whole : `${before}|${after}`,
  );
  return [...alike.values()].map((same) => {
    const [[whole = "", before, , after] = []] = same;
    const codes = same.map(([, , code]) => code).join(", ");
    return before === undefined ? whole : `${before} ${codes}${after}`;
  });
}

/** A text that ends in a D-code or a SIP status, or goes on behind it. */
const codePattern = /^(.*(?:with|SIP)) (D?\d{1,3})((?:[, ].*)?)$/;

const kinds: Record<FixtureSource, string> = {
  capture: "captured by somebody who received them",
  example: "the vendor's own examples",
  made: "made from its reference or source code",
};

/** Returns how the answers came about, and the pages that they are from. */
function originsOf(answers: AnswerFixture[]): string[] {
  const counts = Object.entries(kinds).flatMap(([source, text]) => {
    const count = answers.filter((one) => (one.source ?? "made") === source).length;
    return count === 0 ? [] : `${text}: ${count}`;
  });
  const pages = new Set(
    answers.map(
      ({ page }) =>
        page
          .split(": ", 1)[0]
          ?.replace(/\/\d+$/, "")
          .split(", ", 1)[0],
    ),
  );
  return [`Answers ${counts.join("; ")}.`, `${[...pages].join("; ")}.`];
}
