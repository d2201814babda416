import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import { listKeys, nameOfKey, parseKeys } from "#shared/lib/rotated-keys.ts";
import { parseJson, wrangler, wranglerUnless } from "./cloudflare-wrangler.ts";
import { openApi, readQueue, type StandingQueue } from "./cloudflare-queues.ts";
import { queuesOf, type Target } from "./cloudflare-target.ts";
import { DeployError, type Tools } from "./tools.ts";

/** The longest time that a queue may keep a message: 14 days, with Workers Paid. */
export const retentionSeconds = 1_209_600;
/** Age at which objects are deleted: longer than both queues together keep a message. */
export const expireDays = "30";
export const lifecycleRules = [
  { name: "expire-messages", prefix: "messages/" },
  { name: "expire-dead-letters", prefix: "dead-letters/" },
];
const jurisdictions = ["eu", "fedramp"];

/** A lifecycle rule of a bucket, as wrangler prints it. */
export interface LifecycleRule {
  name: string;
  isEnabled: boolean;
  /** Beginning of the names of its objects; empty: of all objects. */
  prefix: string;
  action: string;
}

/** Parts of a deployment that are there already. */
export interface Standing {
  queues: Map<string, StandingQueue>;
  hasDatabase: boolean;
  /** Lifecycle rules of the bucket; undefined: there is no bucket. */
  rules: LifecycleRule[] | undefined;
  /** Place of the bucket by law: of an earlier run, or as asked for. */
  jurisdiction: string | undefined;
}

/**
 * Looks for a deployment's queues, database and bucket, and changes nothing. Each is asked for by its name, as
 * only the first page of an account's queues and buckets is listed.
 *
 * @param account id of the account
 * @throws DeployError if R2 or the queues cannot be used
 */
export async function lookForResources(
  tools: Tools,
  target: Target,
  account: string,
): Promise<Standing> {
  const bucket = await lookForBucket(tools, target);
  const api = await openApi(tools, account);
  const queues: Standing["queues"] = new Map();
  for (const name of queuesOf(target)) {
    const queue = await readQueue(tools, api, name);
    if (queue !== undefined) queues.set(name, queue);
  }
  const listed = await wrangler(tools, ["d1", "list", "--json"]);
  const databases = parseJson(z.array(z.object({ name: z.string() })), listed);
  if (databases === undefined) throw new DeployError(`wrangler d1 list said:\n${listed}`);
  const hasDatabase = databases.some(({ name }) => name === target.database);
  return { queues, hasDatabase, ...bucket };
}

/** The bucket stands in one place by law. Without `--jurisdiction`, that of an earlier run is found again. */
async function lookForBucket(tools: Tools, { bucket, jurisdiction }: Target) {
  const absent = /\[code: 10006\]/; // The specified bucket does not exist.
  const rulesIn = async (place: string | undefined, isAbsent: RegExp) => {
    const args = ["r2", "bucket", "lifecycle", "list", bucket, ...placeOf(place)];
    const listed = await wranglerUnless(isAbsent, tools, args);
    return listed === undefined ? undefined : rulesOf(listed);
  };
  const rules = await rulesIn(jurisdiction, absent);
  if (rules !== undefined || jurisdiction !== undefined) return { rules, jurisdiction };
  for (const place of jurisdictions) {
    const inPlace = await rulesIn(place, /./); // an account without the jurisdiction answers an error
    if (inPlace !== undefined) return { rules: inPlace, jurisdiction: place };
  }
  return { rules, jurisdiction };
}

/** Reads the rules that wrangler printed: a block of lines each, `name:     expire-messages` the first. */
function rulesOf(listed: string): LifecycleRule[] {
  return listed
    .split(/^(?=name:)/m)
    .slice(1)
    .map((block) => {
      const field = (label: string) =>
        new RegExp(`^${label}:\\s+(.*?)\\s*$`, "m").exec(block)?.[1] ?? "";
      return {
        name: field("name"),
        isEnabled: field("enabled") === "Yes",
        prefix: field("prefix").replace("(all prefixes)", ""),
        action: field("action"),
      };
    });
}

export const placeOf = (jurisdiction: string | undefined) =>
  jurisdiction === undefined ? [] : ["--jurisdiction", jurisdiction];

/** Returns the commands that create what is absent. Repeated after an interruption they create the rest. */
export function creations(
  target: Target,
  { queues, hasDatabase, rules, jurisdiction }: Standing,
  location: string | undefined,
): string[][] {
  // A jurisdiction decides the place alone: R2 refuses both, and D1 ignores the location.
  const near = jurisdiction === undefined && location !== undefined ? ["--location", location] : [];
  const place = [...placeOf(jurisdiction), ...near];
  const absentQueues = queuesOf(target).filter((name) => !queues.has(name));
  const absentRules = lifecycleRules.filter(
    ({ name }) => rules?.some((rule) => rule.name === name) !== true,
  );
  return [
    ...absentQueues.map((name) =>
      ["queues", "create", name].concat(
        ["--message-retention-period-secs", String(retentionSeconds)],
        placeOf(jurisdiction),
      ),
    ),
    ...(hasDatabase ? [] : [["d1", "create", target.database, ...place]]),
    ...(rules === undefined ? [["r2", "bucket", "create", target.bucket, ...place]] : []),
    ...absentRules.map(({ name, prefix }) =>
      ["r2", "bucket", "lifecycle", "add", target.bucket, name, prefix].concat(
        ["--expire-days", expireDays],
        placeOf(jurisdiction),
      ),
    ),
  ];
}

/** Returns the command that brings the ledger's tables up to date. */
export const migration = ({ configs }: Target) =>
  "d1 migrations apply LEDGER --remote --config".split(" ").concat(configs.dialer);

/** Runs a statement on the ledger. Resolves to its rows. */
export async function query<Row>(
  tools: Tools,
  { database }: Target,
  { sql, row }: { sql: string; row: z.ZodMiniType<Row> },
): Promise<Row[]> {
  const args = ["d1", "execute", database, "--remote", "--json", "--command", sql];
  const said = await wrangler(tools, args);
  const [answer] = parseJson(z.array(z.object({ results: z.array(row) })), said) ?? [];
  if (answer === undefined) throw new DeployError(`wrangler d1 execute said:\n${said}`);
  return answer.results;
}

/** True if the ledger holds neither a call nor a document of the service, and so no hash under any HASH_KEY. */
export async function isLedgerEmpty(tools: Tools, target: Target): Promise<boolean> {
  const sql =
    "SELECT EXISTS (SELECT 1 FROM calls) OR EXISTS (SELECT 1 FROM documents WHERE kind <> 'deployment') AS used";
  const [found] = await query(tools, target, { sql, row: z.object({ used: z.number() }) });
  return found?.used === 0;
}

const listSchema = z.object({ keys: z.array(z.string()) });

/**
 * Notes in the ledger which keys are in use, by their names. Cloudflare shows no secret, and of two rotations the second
 * must not end the first one's key.
 */
export async function recordKeys(tools: Tools, target: Target, hashKey: string): Promise<void> {
  const value = JSON.stringify({ keys: listKeys(parseKeys(hashKey, "HASH_KEY")).map(nameOfKey) });
  const sql = `INSERT INTO documents (kind, key, version, expires_at, value)
    VALUES ('deployment', 'keys', '${randomUUID()}', NULL, '${value}')
    ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, value = excluded.value RETURNING value`;
  await query(tools, target, { sql, row: z.object({ value: z.string() }) });
}

/** Returns the names of the keys that were set, or that the do-not-call list names; none if neither is known. */
export async function readKeyNames(tools: Tools, target: Target): Promise<string[]> {
  const sql =
    "SELECT value FROM documents WHERE kind = 'do-not-call-list' OR (kind = 'deployment' AND key = 'keys')";
  const found = await query(tools, target, { sql, row: z.object({ value: z.string() }) });
  return found.flatMap(({ value }) => parseJson(listSchema, value)?.keys ?? []);
}
