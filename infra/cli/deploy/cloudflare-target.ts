import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import * as z from "#shared/lib/zod.ts";
import type { FunctionName } from "./secret-names.ts";
import { DeployError } from "./tools.ts";

const root = resolve(import.meta.dirname, "../../..");
const tracked = { api: "wrangler.toml", dialer: "functions/dialer/wrangler.toml" };
const family = "outbound-calls";
/** Settings that are paths from the file that holds them. */
const pathNames: ReadonlySet<string> = new Set(["main", "migrations_dir", "directory"]);

/** Names of one deployment's parts, and the files that describe its Workers. */
export interface Target {
  workers: Record<FunctionName, string>;
  queue: string;
  deadQueue: string;
  eventsQueue: string;
  deadEventsQueue: string;
  database: string;
  bucket: string;
  /** Paths of the Workers' settings, from the project's root. */
  configs: Record<FunctionName, string>;
  /** Place of R2's and D1's data by law, such as `eu`. */
  jurisdiction: string | undefined;
}

/**
 * Names the parts of a deployment. The first one is described by wrangler.toml itself, so that `npx wrangler`
 * means the same; one with a name of its own, or with a jurisdiction, has settings that are made from those.
 *
 * @param name the deployment, where it stands beside the first, such as `staging`
 */
export function targetOf(name: string | undefined, jurisdiction?: string): Target {
  if (
    name !== undefined &&
    (!/^[a-z][a-z0-9-]{0,29}$/.test(name) || /(^|-)(dead|events)$|-$/.test(name))
  ) {
    throw new DeployError(
      "--name must be at most 30 lowercase letters, digits and hyphens, and must not end in dead or events",
    );
  }
  const base = name === undefined ? family : `${family}-${name}`;
  const made = (worker: FunctionName) => `dist/deploy/${base}/${worker}.json`;
  const isTracked = name === undefined && jurisdiction === undefined;
  return {
    workers: { api: `${base}-api`, dialer: `${base}-dialer` },
    queue: base,
    // The dialer tells its queues apart by these endings.
    deadQueue: `${base}-dead`,
    eventsQueue: `${base}-events`,
    deadEventsQueue: `${base}-events-dead`,
    database: base,
    bucket: base,
    configs: isTracked ? tracked : { api: made("api"), dialer: made("dialer") },
    jurisdiction,
  };
}

/** Returns the names of a deployment's queues. */
export function queuesOf({ queue, deadQueue, eventsQueue, deadEventsQueue }: Target): string[] {
  return [queue, deadQueue, eventsQueue, deadEventsQueue];
}

/** Writes the settings of a deployment that wrangler.toml does not describe. They hold no secret. */
export async function writeConfigs(target: Target): Promise<void> {
  for (const worker of ["api", "dialer"] as const) {
    if (target.configs[worker] === tracked[worker]) continue;
    const path = join(root, target.configs[worker]);
    await mkdir(dirname(path), { recursive: true });
    const made = JSON.stringify(await configOf(target, worker), null, 2);
    const before = await readFile(path, "utf8").catch(() => "");
    if (made !== before) await writeFile(path, made);
  }
}

const configSchema = z.record(z.string(), z.json());
type Json = z.infer<ReturnType<typeof z.json>>;

/** Returns a Worker's settings under a deployment's names. Paths begin at the file that is to hold them. */
async function configOf(target: Target, worker: FunctionName): Promise<Json> {
  // Loaded only here: wrangler's own code takes a second.
  const { experimental_readRawConfig: readRawConfig } = await import("wrangler");
  const source = join(root, tracked[worker]);
  const toFolder = dirname(join(root, target.configs[worker]));
  const renamed = (value: Json, key = ""): Json => {
    if (typeof value === "string" && pathNames.has(key)) {
      return relative(toFolder, resolve(dirname(source), value));
    }
    if (typeof value === "string") return value.replace(/^outbound-calls(?=-|$)/, target.queue);
    if (Array.isArray(value)) return value.map((one) => renamed(one));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, renamed(one, name)]),
    );
  };
  const { rawConfig } = readRawConfig({ config: source });
  const raw = configSchema.parse(JSON.parse(JSON.stringify(rawConfig)));
  if (target.queue !== family) {
    // An address of the first deployment is not taken over by a second one, which answers at workers.dev.
    delete raw["routes"];
    delete raw["route"];
    if (worker === "api") raw["workers_dev"] = true;
  }
  const buckets = raw["r2_buckets"];
  if (target.jurisdiction !== undefined && Array.isArray(buckets)) {
    raw["r2_buckets"] = buckets.map((bucket) =>
      typeof bucket === "object" && !Array.isArray(bucket)
        ? { ...bucket, jurisdiction: target.jurisdiction ?? null }
        : bucket,
    );
  }
  return renamed(raw);
}
