import { parseDialPlan } from "./plans.ts";
import { toStatusOutcome } from "#shared/providers/provider-http.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import type { AnswerFixture, FixtureSource } from "../contracts/provider-bench.ts";
import { ambiguousWords } from "./provider-answers/ambiguous-words.ts";
import { toJson } from "./plan-text.ts";
import { answersOfProviders } from "./provider-answers/index.ts";
import { providerNotes } from "./provider-answers/notes.ts";
import { resultsOfProviders } from "./provider-results/index.ts";
import { linesOfResults } from "./provider-result-lines.ts";
import { setupOf, setupPlan } from "./provider-setup.ts";

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

/** Returns the type of a provider, by which its page is named. */
export const typeOf = (name: string) => name.toLowerCase().replaceAll(" ", "-");

/** Returns the page of each provider, by its name under docs/providers. */
export function makeProviderPages(): Map<string, string> {
  return new Map(
    Object.keys(answersOfProviders).map((name) => [`${typeOf(name)}.md`, pageOf(name)]),
  );
}

function pageOf(name: string): string {
  const { answers = [] } = answersOfProviders[name] ?? {};
  const notes = providerNotes[name] ?? { answers: [], records: [] };
  const words = ambiguousWords.filter(({ providers }) => providers.includes(name));
  const sections: [heading: string, lines: string[]][] = [
    [
      "Answers",
      [...answerLines(answers), ...notes.answers, ...evidence(answers, setupOf(typeOf(name)).open)],
    ],
    ["Results", [...resultLines(name), ...words.map(doubtfulLine), ...notes.records]],
  ];
  return [
    `# ${name}`,
    `All providers: [providers.md](../providers.md).`,
    setupSection(name),
    ...sections
      .filter(([, lines]) => lines.length > 0)
      .map(([heading, lines]) => `## ${heading}\n\n${lines.map((line) => `- ${line}`).join("\n")}`),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

/** Says what a word may mean, and the result it becomes. */
function doubtfulLine({ word, means, by, otherwise }: (typeof ambiguousWords)[number]): string {
  const [, what] = /^nothing(.*)/.exec(by) ?? [];
  const told =
    what === undefined
      ? `Decided by ${by}; without it, the result is ${otherwise}.`
      : `Nothing distinguishes them${what}; the result is ${otherwise}.`;
  return `${word} may mean: ${means}. ${told}`;
}

function setupSection(name: string): string {
  const setup = setupOf(typeOf(name));
  const lines = [
    ...setup.steps,
    `**Context**: ${setup.context.replace(/\.$/, "")}.`,
    ...(setup.duration === undefined ? [] : [`**\`maxCallMinutes\`**: ${setup.duration}.`]),
  ];
  const { agents, providers } = setupPlan(typeOf(name));
  const plan = toJson({ agents, ...(providers === undefined ? {} : { providers }) });
  return `\`\`\`json\n${plan}\n\`\`\`\n\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

/** Lists by class the answers that are read otherwise than by their status. */
function answerLines(answers: AnswerFixture[]): string[] {
  const special = answers.filter(({ status, outcome }) => {
    const isSuccess = status >= 200 && status <= 299;
    const byStatus = isSuccess
      ? "placed"
      : toStatusOutcome({ status, headers: new Headers(), text: "" }, 0).kind;
    return outcome.kind !== byStatus || blamesNumber(outcome);
  });
  const items = special.map(
    (one) => [nameOf(one.outcome), one.status, shortened(one.says ?? one.page)] as const,
  );
  return [...Map.groupBy(items, ([name]) => name)].map(([name, all]) => {
    const byStatus = Map.groupBy(all, ([, status]) => status);
    const parts = [...byStatus].map(
      ([status, same]) =>
        `${status} ${[...new Set(merged(same.map(([, , text]) => text)))].join("; ")}`,
    );
    return `**${name}**: ${parts.join(". ")}.`;
  });
}

/** Leaves out what a provider's reference says of a code. */
const shortened = (text: string) =>
  /^(\d{5,6}(?:,? with \w+)?)(?=[ ,])/.exec(text)?.[1]?.replace(/ with (?:a|its)$/, "") ?? text;

const blamesNumber = (outcome: DialOutcome) =>
  outcome.kind === "rejected" && outcome.blamesNumber === true;

const nameOf = (outcome: DialOutcome) =>
  blamesNumber(outcome) ? `${classes.rejected}'s number` : classes[outcome.kind];

/** Merges texts that differ by a D-code or a SIP status alone. */
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

/** A text that ends in a D-code or a SIP status, or continues behind it. */
const codePattern = /^(.*(?:with|SIP)) (D?\d{1,3})((?:[, ].*)?)$/;

/** Says which results a provider's records report, and by which words where these have other names. */
function resultLines(name: string): string[] {
  const results = resultsOfProviders[name === "SignalWire" ? "Twilio" : name];
  if (results === undefined) return [];
  const statuses = [...new Set(results.map(({ result }) => result.status))];
  const route = parseDialPlan(setupPlan(typeOf(name)), {}).agents["*"];
  const told = statuses.flatMap((status) => {
    if (status === "live" || status === "unknown") return [];
    if (status !== "voicemail" || (route !== undefined && routeKinds.reportsVoicemail(route))) {
      return `\`${status}\``;
    }
    return asksForMachines(name) ? "`voicemail` (with `machineDetection`)" : [];
  });
  const hasCost = results.some(({ result }) => result.cost !== undefined);
  return [
    `Reported: ${told.join(", ")}${hasCost ? ", and the cost" : ""}.`,
    ...(name === "SignalWire"
      ? ["Read as [Twilio's](twilio.md#results)."]
      : linesOfResults(results)),
  ];
}

/** True if a route of this provider may ask for the detection of answering machines. */
const asksForMachines = (name: string) =>
  setupOf(typeOf(name)).steps.some((step) => step.includes("`machineDetection`"));

const kinds: Record<FixtureSource, string> = {
  capture: "captured",
  example: "from the vendor's examples",
  made: "written from the reference",
};

/** Returns how the answers of the tests came about, the pages that they are from, and what is not known. */
function evidence(answers: AnswerFixture[], open: string | undefined): string[] {
  const counts = Object.entries(kinds).flatMap(([source, text]) => {
    const count = answers.filter((one) => (one.source ?? "made") === source).length;
    return count === 0 ? [] : `${count} ${text}`;
  });
  return [
    `Tested answers: ${counts.join(", ")}.`,
    ...(open === undefined ? [] : [`Not documented: ${open}`]),
  ];
}
