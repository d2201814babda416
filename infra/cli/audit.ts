/**
 * `npm run audit`: asks the registry for known vulnerabilities of all packages: what is deployed, and what builds, tests
 * and deploys it, which sees secrets. Exits with 1 if one is high or critical, unless `infra/cli/audit-exceptions.json`
 * accepts it with a reason and an end date, and with 2 if the registry does not answer; with --if-reachable that is only
 * reported.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import * as z from "#shared/lib/zod.ts";
import { advisorySchema, exceptionsSchema, judgeAdvisory } from "./advisories.ts";
import { printHelp } from "./help.ts";
import { print } from "./print.ts";

printHelp(`npm run audit -- [OPTIONS]

Asks the registry for known vulnerabilities of all packages. Exit code: 0 none has to be fixed; 1 one is high or
critical; 2 the registry does not answer.

  --if-reachable      0 instead of 2
  --exceptions FILE   accepted advisories (infra/cli/audit-exceptions.json)
  --registry URL      another registry`);

const { values } = parseArgs({
  options: {
    exceptions: { type: "string", default: resolve(import.meta.dirname, "audit-exceptions.json") },
    registry: { type: "string" },
    "if-reachable": { type: "boolean" },
  },
});

const reportSchema = z.object({
  // A package that is vulnerable only through another one names that one.
  vulnerabilities: z.record(
    z.string(),
    z.object({ via: z.array(z.union([z.string(), advisorySchema])) }),
  ),
});

const exceptions = exceptionsSchema.parse(JSON.parse(await readFile(values.exceptions, "utf8")));
const registry = values.registry === undefined ? [] : ["--registry", values.registry];
const reports = await Promise.all(
  [
    "",
    "infra/aws/packages",
    "infra/client",
    "infra/mcp/packages",
    "test/packages",
    "test/mutation/packages",
  ].map(reportOf),
);
if (reports.includes(undefined)) {
  print("NOT AUDITED: the registry has not said what it knows of these packages.");
  process.exit(values["if-reachable"] === true ? 0 : 2);
}

const advisories = new Map(
  reports
    .flatMap((report) => Object.values(report?.vulnerabilities ?? {}))
    .flatMap(({ via }) => via)
    .flatMap((one) => (typeof one === "string" ? [] : [[one.url, one] as const])),
);
const today = new Date().toISOString().slice(0, 10);
const judged = [...advisories.values()].map((one) => judgeAdvisory(one, exceptions, today));
for (const { line } of judged) print(line);
const failing = judged.filter(({ isRefused }) => isRefused).length;
print(`${advisories.size} known vulnerabilities in all packages, ${failing} to be fixed.`);
process.exit(failing === 0 ? 0 : 1);

/** Asks the registry about the packages of a folder's lock file. Resolves to undefined if it does not answer. */
async function reportOf(folder: string): Promise<z.infer<typeof reportSchema> | undefined> {
  const printed = await new Promise<string>((done) => {
    const texts = ["audit", "--json", "--package-lock-only", ...registry];
    const cwd = resolve(import.meta.dirname, "../..", folder);
    // The exit code is 1 for any finding.
    const options = { maxBuffer: 64 * 1024 * 1024, cwd, timeout: 120_000 };
    execFile("npm", texts, options, (_error, stdout) => done(stdout));
  });
  return reportSchema.safeParse(parsed(printed)).data;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
