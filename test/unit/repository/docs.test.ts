import { existsSync } from "node:fs";
import { glob, readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { eventExamples } from "#infra/generate/examples.ts";
import packageJson from "#package.json" with { type: "json" };
import { eventTypes } from "#shared/calls/call-event.ts";
import { listMeanings } from "#shared/rules/texts.ts";
import { callFields } from "#shared/calls/call-request.ts";
import { callStates, states } from "#shared/calls/states.ts";
import { neededSecrets, parseDialPlan } from "#test/support/plans.ts";
import { plannedTypes } from "#shared/calls/provider-types.ts";
import { receiverSchema } from "#shared/dial-plan/receivers.ts";
import { settingDescriptions } from "#shared/dial-plan/setting-descriptions.ts";
import { presets } from "#shared/telephony/hours-presets.ts";
import { listPlanSettings, planSettingsList } from "#test/support/plan-settings.ts";

const inDocs = await readdir("docs", { recursive: true });
const pages = [
  "README.md",
  "SECURITY.md",
  "CHANGELOG.md",
  ...inDocs.filter((file) => file.endsWith(".md")).map((file) => join("docs", file)),
];
const textOf = new Map(
  await Promise.all(pages.map(async (page) => [page, await readFile(page, "utf8")] as const)),
);
const decisions = pages.filter((page) => page.startsWith("docs/decisions/0"));

/** Folders that hold what is built, which is not in git. */
const built = ["functions/api/generated"];

/** A page without its fenced code, in which # begins no heading and brackets no link. */
function proseOf(page: string): string {
  return (textOf.get(page) ?? "").replaceAll(/^```.*?^```$/gms, "");
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const slugs = [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  const seen = new Map<string, number>();
  return new Set(
    slugs.map((slug) => {
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    }),
  );
}

describe("the documentation", () => {
  it("begins with a README of one page", () => {
    expect(textOf.get("README.md")?.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
  });

  it("has at most 32,600 words, and 22,000 of decisions", () => {
    const countOf = (isCounted: (page: string) => boolean) =>
      [...textOf].flatMap(([page, text]) => (isCounted(page) ? text.trim().split(/\s+/) : []))
        .length;
    const isDecision = (page: string) => page.startsWith("docs/decisions/");
    const told = "shorten what is said twice; a page about something new may raise the bound";
    expect(
      countOf((page) => page !== "CHANGELOG.md" && !isDecision(page)),
      told,
    ).toBeLessThan(32_600);
    expect(countOf(isDecision), told).toBeLessThan(22_000);
  });

  it.each(decisions)("has a record of a decision in %s", (page) => {
    const text = textOf.get(page) ?? "";
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
    expect(text).toMatch(new RegExp(`^# ${page.slice("docs/decisions/".length, 19)} \\S`));
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(["Date", "Status", "Context", "Decision", "Consequences"]);
    expect(text).toMatch(/^## Date\n\n\d{4}-\d\d-\d\d$/m);
    expect(text).toMatch(/^## Status\n\nAccepted/m);
  });

  it("has a line for each record that another has replaced", () => {
    const list = textOf.get("docs/decisions/README.md") ?? "";
    const replaced = [...list.matchAll(/^- (\d{4}) \S.*: \[\d{4}\]\(\d{4}-[\w-]+\.md\)$/gm)];
    expect(replaced).toHaveLength(list.match(/^- /gm)?.length ?? 0);
    const numbers = [
      ...decisions.map((page) => page.slice("docs/decisions/".length, 19)),
      ...replaced.map(([, number = ""]) => number),
    ];
    const all = numbers.map((_, index) => String(index + 1).padStart(4, "0"));
    expect(numbers.toSorted()).toEqual(all);
  });

  it.each(pages)("has no dead link, in %s", (page) => {
    const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const dead = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(target).has(anchor);
    });
    expect(dead).toEqual([]);
  });

  it.each(pages)("names only files that exist, in %s", (page) => {
    const named = [...proseOf(page).matchAll(/`((?:functions|shared|infra|test|docs)\/[^`\s:]*)`/g)]
      .map(([, path = ""]) => path)
      // A pattern such as test/**, and the files of an example.
      .filter((path) => !/[*{<…]|\/example\./.test(path))
      .filter((path) => !built.some((folder) => path.startsWith(folder)));
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(pages)("names only commands that exist, in %s", (page) => {
    const named = [...(textOf.get(page) ?? "").matchAll(/npm run (?:--?[\w-]+ )*([\w:-]+)/g)];
    const missing = named
      .map(([, name = ""]) => name)
      .filter((name) => !(name in packageJson.scripts));
    expect(missing).toEqual([]);
  });

  it.each(["README.md", "docs/dial-plan.md"])(
    "shows a valid dial plan that can be pasted, in %s",
    (page) => {
      const [, json = ""] = /^```json\n(.*?)^```$/ms.exec(textOf.get(page) ?? "") ?? [];
      expect(() => parseDialPlan(JSON.parse(json), {})).not.toThrow();
    },
  );

  it("has each setting of the dial plan in docs/dial-plan.md, as its schema has it", () => {
    expect(textOf.get("docs/dial-plan.md")).toContain(`\n${planSettingsList()}\n`);
    const paths = listPlanSettings().map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(Object.keys(settingDescriptions)));
    expect(paths.length).toBeGreaterThan(50);
  });

  const setup = [...textOf].flatMap(([page, section]) => {
    const [, name] = /^docs\/providers\/(.+)\.md$/.exec(page) ?? [];
    return name === undefined ? [] : { name, section };
  });

  /** Parts of a plan that a provider's page leaves out. */
  const restOfPlan = { callingHours: { default: "always" }, destinations: { allow: ["*"] } };

  it("says how to set up every provider except the simulator", () => {
    const names = plannedTypes.filter((name) => name !== "simulator");
    expect(setup.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it.each(setup)("shows a valid dial plan for $name, and its secrets", ({ name, section }) => {
    const plans = [...section.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = ""]) =>
      parseDialPlan({ ...restOfPlan, ...JSON.parse(json) }, {}),
    );
    expect(plans).toHaveLength(1);
    for (const plan of plans) {
      expect(Object.values(plan.agents).map(({ provider }) => provider)).toEqual([name]);
      for (const secret of neededSecrets(plan, false)) expect(section).toContain(`\`${secret}\``);
    }
  });

  it("shows receivers that a dial plan may have, each type of event, and bodies as OpenAPI does", async () => {
    const exampleEvents = await readFile("docs/examples/events.json", "utf8");
    const told = textOf.get("docs/events.md") ?? "";
    const [plan, ...others] = [...told.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = ""]) =>
      Object(JSON.parse(json)),
    );
    const bodies = others.filter((one) => "type" in one); // the others are answers of the API
    expect(Object.keys(plan.events)).toEqual(["*", "crm"]);
    for (const entry of Object.values(plan.events)) {
      expect(receiverSchema.parse(entry)).toMatchObject(Object(entry));
    }
    expect(JSON.parse(exampleEvents)).toEqual(Object.values(eventExamples));
    expect(bodies.length).toBeGreaterThan(0);
    expect(Object.values(eventExamples)).toEqual(expect.arrayContaining(bodies));
    const types = [...told.matchAll(/^- `((?:call|request)\.\w+)`:/gm)].map(([, type]) => type);
    expect(types).toEqual(eventTypes);
    expect(Object.keys(eventExamples).toSorted()).toEqual(eventTypes.toSorted());
  });

  it.each(callFields)("says in the README and in docs/api.md what %s of a call is", (field) => {
    expect(textOf.get("README.md")).toMatch(new RegExp(`^\\| \`${field}\` +\\| \\S`, "m"));
    expect(textOf.get("docs/api.md")).toMatch(new RegExp(`^- \`${field}\`: \\S`, "m"));
  });

  it("lists each preset of calling hours in docs/dial-plan.md", () => {
    const [, section = ""] =
      /^### Presets\n(.*?)(?=^##)/ms.exec(textOf.get("docs/dial-plan.md") ?? "") ?? [];
    const listed = [...section.matchAll(/^- `([\w-]+)`: \S/gm)].map(([, name = ""]) => name);
    expect(listed.toSorted()).toEqual(Object.keys(presets).toSorted());
  });

  it("says in the README what each state means, in order", () => {
    const rows = [...(textOf.get("README.md") ?? "").matchAll(/^- `([A-Z_]+)`: \S/gm)];
    expect(rows.map(([, state]) => state)).toEqual(callStates);
  });

  it("draws each state in docs/architecture.md, and what operators make of calls", () => {
    const [, drawn = ""] =
      /stateDiagram-v2\n(.*?)```/s.exec(textOf.get("docs/architecture.md") ?? "") ?? [];
    const arrows = [...drawn.matchAll(/^ +(\S+) --> (\w+)(?:: (.*))?$/gm)];
    expect(new Set(arrows.map(([, , to]) => to))).toEqual(new Set(callStates));
    const byOperator = arrows.flatMap(([, from, to, how]) =>
      how === "operator" ? `${from} ${to}` : [],
    );
    const targets = { cancel: [], resolve: ["PLACED", "CANCELLED"], redial: ["REDIALED"] };
    const expected = callStates.flatMap((state) =>
      states[state].actions.flatMap((action) => targets[action].map((to) => `${state} ${to}`)),
    );
    expect(byOperator).toEqual(expected);
  });

  it("says in docs/incidents.md what to do about each alarm", async () => {
    const [, section = ""] =
      /^## Alarms\n(.*?)(?=^## )/ms.exec(textOf.get("docs/incidents.md") ?? "") ?? [];
    const cells = [...section.matchAll(/^- (`[^:]+): .*\*\*Do\*\*: \S/gm)].map(
      ([, cell = ""]) => cell,
    );
    const explained = cells.flatMap((cell) =>
      [...cell.matchAll(/`([\w.]+)`/g)].map(([, one = ""]) => one),
    );
    const raised = new Set<string>();
    for await (const path of glob("{functions,shared}/**/*.ts")) {
      if (path.includes("generated")) continue;
      const code = await readFile(path, "utf8");
      for (const [, event = ""] of code.matchAll(/"alarm",\s*"([\w.]+)"/g)) raised.add(event);
    }
    // These follow from the table of states.
    const others = ["call.needs_review", "call.expired"];
    expect(explained.toSorted()).toEqual([...raised, ...others].toSorted());
  });

  it("says what each reason means", () => {
    const told = textOf.get("docs/reasons.md") ?? "";
    const rows = [...told.matchAll(/^- `(\w+)`: (.+)$/gm)];
    const meanings = Object.fromEntries(rows.map(([, name = "", meaning = ""]) => [name, meaning]));
    expect(meanings).toMatchObject(listMeanings());
  });
});
