/**
 * `npm run load`: runs the service of a platform under a steady load for some minutes, while its processes
 * are killed. Prints a Markdown table of the fate of every call.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { aws, cloudflare } from "../support/platforms.ts";
import { endServices } from "./lives.ts";
import { hasFailed, type LoadOptions, type LoadResult, runLoad } from "./run.ts";
import { tableOf } from "./table.ts";

const usage = `npm run load -- [OPTIONS]

  --platform cloudflare|aws   one of them; without it both, one after the other
  --minutes N                 of load (3)
  --rate N                    single calls a second (10)
  --batch-every SECONDS       a batch so often (Cloudflare 5, AWS 10); the calls of every third one
                              are answered 429 with Retry-After at first
  --batch-calls N             most calls of a batch (300); the least are 100, or N
  --kill-every SECONDS        so often kill -9 (Cloudflare 45: of everything; AWS 20: of a process of a
                              function, and in the middle of the run of everything); 0: never
  --settle SECONDS            how long all may take to end, once nothing is posted any more (180)
  --json FILE                 the measurements, beside the table

Exit code: 0 each call was dialed once, or is kept for a person; 1 not so, or wrong usage.`;

const platforms = { cloudflare, aws };
/** Rates that two cores sustain: the AWS shape's local engines are slower. */
const defaults = {
  cloudflare: { batchEvery: "5", killEvery: "45" },
  aws: { batchEvery: "10", killEvery: "20" },
};

function fail(line: string): never {
  console.error(line);
  process.exit(1);
}

function parse() {
  try {
    return parseArgs({
      options: {
        platform: { type: "string" },
        minutes: { type: "string", default: "3" },
        rate: { type: "string", default: "10" },
        "batch-every": { type: "string" },
        "batch-calls": { type: "string", default: "300" },
        "kill-every": { type: "string" },
        settle: { type: "string", default: "180" },
        json: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : "wrong usage"}\n\n${usage}`);
  }
}

function numberIn(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (text.trim() !== "" && number >= least && number <= most) return number;
  return fail(`--${name} must be a number from ${least} to ${most}, not "${text}".\n\n${usage}`);
}

function chosen(platform: string | undefined): (keyof typeof platforms)[] {
  switch (platform) {
    case undefined:
      return ["cloudflare", "aws"];
    case "cloudflare":
    case "aws":
      return [platform];
    default:
      return fail(`--platform must be cloudflare or aws, not "${platform}".\n\n${usage}`);
  }
}

const given = parse();
if (given.help) {
  console.log(usage);
  process.exit(0);
}
const most = Math.floor(numberIn("batch-calls", given["batch-calls"], 1, 10_000));
const optionsFor = (name: keyof typeof platforms): LoadOptions => {
  const { batchEvery, killEvery } = defaults[name];
  return {
    minutes: numberIn("minutes", given.minutes, 0.1, 24 * 60),
    rate: numberIn("rate", given.rate, 0.1, 1000),
    batchEverySeconds: numberIn("batch-every", given["batch-every"] ?? batchEvery, 0.1, 3600),
    batchCalls: { least: Math.min(100, most), most },
    killEverySeconds: numberIn("kill-every", given["kill-every"] ?? killEvery, 0, 3600),
    settleSecondsMax: numberIn("settle", given.settle, 1, 3600),
  };
};
const runs = chosen(given.platform).map((name) => ({ name, options: optionsFor(name) }));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    endServices();
    process.exit(130);
  });
}
const results: LoadResult[] = [];
for (const { name, options } of runs) {
  results.push(await runLoad(platforms[name], options, (line) => console.error(line)));
}
console.log(tableOf(results));
for (const result of results.filter(hasFailed)) {
  const { account, refused, kept, platform: name } = result;
  for (const what of ["twice", "lost", "unrecorded"] as const) {
    for (const id of account[what]) console.error(`${name}, ${what}: ${id}`);
  }
  for (const answer of new Set(refused)) console.error(`${name}, refused: ${answer}`);
  console.error(`${name}: state and log are kept in ${kept}`);
  process.exitCode = 1;
}
if (given.json !== undefined) await writeFile(given.json, `${JSON.stringify(results, null, 2)}\n`);
