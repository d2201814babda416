import {
  expireDays,
  type LifecycleRule,
  lifecycleRules,
  placeOf,
  retentionSeconds,
  type Standing,
} from "./cloudflare-resources.ts";
import { queuesOf, type Target } from "./cloudflare-target.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Beginnings of the names of all objects in the bucket. */
const objectPrefixes = [...lifecycleRules.map(({ prefix }) => prefix), "epoch/", "journal/"];

/**
 * Checks that what is found is this service's own: where its Workers are absent, only the beginning of an interrupted first
 * run, or everything. Anything else may be somebody else's, and is taken over only by `--adopt`.
 *
 * @throws DeployError with what was found
 */
export function requireOwn(
  target: Target,
  { queues, hasDatabase, rules }: Standing,
  { hasWorkers, adopts }: { hasWorkers: boolean; adopts: boolean },
): void {
  if (hasWorkers || adopts) return;
  const parts = [
    ...queuesOf(target).map((name) => {
      const queue = queues.get(name);
      const isMade = queue?.retentionSeconds === retentionSeconds && queue.consumers.length === 0;
      return { name: `the queue ${name}`, isThere: queue !== undefined, isMade };
    }),
    { name: `D1 ${target.database}`, isThere: hasDatabase, isMade: true },
    { name: `R2 ${target.bucket}`, isThere: rules !== undefined, isMade: true },
  ];
  const found = parts.filter(({ isThere }) => isThere);
  const isBeginning = parts.slice(0, found.length).every(({ isThere }) => isThere);
  if (isBeginning && found.every(({ isMade }) => isMade)) return;
  throw new DeployError(
    `Found ${found.map(({ name }) => name).join(", ")}, but not the Workers that use them. If they are of this service, as ` +
      "after npm run destroy:cloudflare, run this again with -- --adopt. If they are somebody else's, choose another -- --name.",
  );
}

/**
 * Checks what stands against what should: no other consumer takes messages, and no other rule deletes objects.
 *
 * @throws DeployError with what a person must remove
 */
export function requireNoOthers(target: Target, { queues, rules, jurisdiction }: Standing): void {
  const problems = [...queues].flatMap(([name, { consumers }]) => {
    const own = isDead(target, name) ? target.workers.api : target.workers.dialer;
    return consumers
      .filter((one) => one !== own)
      .map(
        (one) =>
          `${one} takes messages of the queue ${name}, and what it takes is not dialed: npx wrangler queues consumer ` +
          (one === "http_pull" ? `http remove ${name}` : `remove ${name} ${one}`),
      );
  });
  for (const rule of rules ?? []) {
    if (isOurs(rule) || !rule.action.includes("Expire objects")) continue;
    const deleted = objectPrefixes.find(
      (prefix) => prefix.startsWith(rule.prefix) || rule.prefix.startsWith(prefix),
    );
    if (deleted === undefined) continue;
    const place = placeOf(jurisdiction).map((word) => ` ${word}`);
    problems.push(
      `The rule ${rule.name} of R2 ${target.bucket} deletes objects of this service (${rule.action}): ` +
        `npx wrangler r2 bucket lifecycle remove ${target.bucket} --name ${rule.name}${place.join("")}`,
    );
  }
  if (problems.length > 0) throw new DeployError(`${problems.join("\n")}\nThen run this again.`);
}

/** Returns the commands that bring what stands to what it should be, without what is absent. */
export function listFixes(target: Target, { queues, rules, jurisdiction }: Standing): string[][] {
  const kept = [...queues]
    .filter(([, one]) => one.retentionSeconds !== retentionSeconds)
    .map(([name]) => {
      const option = ["--message-retention-period-secs", String(retentionSeconds)];
      return ["queues", "update", name, ...option];
    });
  const place = placeOf(jurisdiction);
  const replaced = (rules ?? []).flatMap((rule) => {
    const ours = lifecycleRules.find(({ name }) => name === rule.name);
    if (ours === undefined || isRight(rule, ours.prefix)) return [];
    const lifecycle = ["r2", "bucket", "lifecycle"];
    const age = ["--expire-days", expireDays];
    return [
      [...lifecycle, "remove", target.bucket, "--name", rule.name, ...place],
      [...lifecycle, "add", target.bucket, rule.name, ours.prefix, ...age, ...place],
    ];
  });
  return [...kept, ...replaced];
}

/** Reports queues that somebody has paused. That may be intended, so no deployment resumes them. */
export function reportPaused({ print }: Pick<Tools, "print">, { queues }: Standing): void {
  for (const [name, { isPaused }] of queues) {
    if (!isPaused) continue;
    print(
      `THE QUEUE ${name} IS PAUSED: nothing on it is handled until you resume it: npx wrangler queues resume-delivery ${name}`,
    );
  }
}

const isDead = ({ deadQueue, deadEventsQueue }: Target, name: string) =>
  name === deadQueue || name === deadEventsQueue;

const isOurs = ({ name }: LifecycleRule) => lifecycleRules.some((one) => one.name === name);

const isRight = ({ isEnabled, prefix, action }: LifecycleRule, ours: string) =>
  isEnabled && prefix === ours && action === `Expire objects after ${expireDays} days`;
