import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { deployToCloudflare } from "../../../infra/cli/deploy/cloudflare-deploy.ts";
import { destroyOnCloudflare } from "../../../infra/cli/deploy/cloudflare-destroy.ts";
import dialPlan from "../../../infra/dial-plan.json" with { type: "json" };
import {
  createFakeAccount,
  createFakeTools,
  type FakeAccount,
} from "../../support/fake-wrangler.ts";

const retentionSeconds = 1_209_600;
const queueNames = [
  "outbound-calls",
  "outbound-calls-dead",
  "outbound-calls-events",
  "outbound-calls-events-dead",
] as const;

let account: FakeAccount;
beforeEach(() => (account = createFakeAccount()));

/** Deploys, and returns the commands that changed something, and what was printed. */
async function deploy(options = {}) {
  const tools = createFakeTools(account);
  await deployToCloudflare(tools, dialPlan, options);
  return { changes: tools.changes(), printed: tools.printed.join("\n") };
}

/** Expects that a deployment is refused before anything is changed. */
async function expectRefused(message: RegExp) {
  const tools = createFakeTools(account);
  await expect(deployToCloudflare(tools, dialPlan, {})).rejects.toThrow(message);
  expect(tools.changes()).toEqual([]);
}

const queue = (name: string) => {
  const found = account.queues.get(name);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
};
const rulesOf = () => account.buckets.get("outbound-calls") ?? new Map();
const putQueue = (name: string, more = {}) =>
  account.queues.set(name, { retentionSeconds, isPaused: false, consumers: [], ...more });

describe("npm run deploy:cloudflare, of what it finds without the Workers that use it,", () => {
  it.each<[string, () => void, RegExp]>([
    [
      "a database",
      () => {
        account.databases.add("outbound-calls");
        account.ledgers.set("outbound-calls", new DatabaseSync(":memory:"));
      },
      /Found D1 outbound-calls, but/,
    ],
    [
      "a bucket",
      () => account.buckets.set("outbound-calls", new Map()),
      /Found R2 outbound-calls, but/,
    ],
    [
      "a queue that keeps messages for another time",
      () => putQueue("outbound-calls", { retentionSeconds: 345_600 }),
      /Found the queue outbound-calls, but/,
    ],
    [
      "a queue that somebody consumes",
      () => putQueue("outbound-calls", { consumers: ["their-worker"] }),
      /Found the queue outbound-calls, but/,
    ],
  ])("touches %s only with --adopt", async (_, put, message) => {
    put();
    await expectRefused(message);
    for (const one of account.queues.values()) one.consumers = [];
    await deploy({ adopt: true });
    expect(account.deployed).toHaveLength(2);
    expect(queue("outbound-calls").retentionSeconds).toBe(retentionSeconds);
  });

  it("goes on without --adopt where it is the beginning of an interrupted run", async () => {
    putQueue(queueNames[0]);
    putQueue(queueNames[1]);
    const { changes } = await deploy();
    expect(changes).not.toContain(
      "queues create outbound-calls --message-retention-period-secs 1209600",
    );
    expect([...account.queues.keys()]).toEqual(queueNames);
  });

  it("takes over the database and the bucket that a destroyed deployment has left, with --adopt", async () => {
    await deploy();
    await destroyOnCloudflare(createFakeTools(account), { yes: true });
    await expectRefused(/Found D1 outbound-calls, R2 outbound-calls, but.*--adopt/);
    await deploy({ adopt: true });
    expect([...account.queues.keys()]).toEqual(queueNames);
  });

  it("makes a queue again that was deleted beside its Workers", async () => {
    await deploy();
    account.queues.delete("outbound-calls-events");
    await deploy();
    expect(account.queues.has("outbound-calls-events")).toBe(true);
  });
});

describe("npm run deploy:cloudflare, of what it finds of its own,", () => {
  it("mends a shorter retention and changed rules, and says so", async () => {
    await deploy();
    queue("outbound-calls-events").retentionSeconds = 345_600;
    rulesOf().set("expire-messages", { prefix: "messages/", days: "7" });
    const { changes, printed } = await deploy();
    for (const mended of [
      "queues update outbound-calls-events --message-retention-period-secs 1209600",
      "r2 bucket lifecycle remove outbound-calls --name expire-messages",
      "r2 bucket lifecycle add outbound-calls expire-messages messages/ --expire-days 30",
    ]) {
      expect(changes).toContain(mended);
      expect(printed).toContain(`Mended: wrangler ${mended}`);
    }
    expect(queue("outbound-calls-events").retentionSeconds).toBe(retentionSeconds);
    expect(rulesOf().get("expire-messages")).toEqual({ prefix: "messages/", days: "30" });
  });

  it("tells of a paused queue at its end, and leaves it paused, which may be meant", async () => {
    await deploy();
    queue("outbound-calls").isPaused = true;
    const { changes, printed } = await deploy();
    expect(printed).toMatch(/THE QUEUE outbound-calls IS PAUSED.*resume-delivery outbound-calls/);
    expect(changes.join()).not.toMatch(/resume/);
    expect(queue("outbound-calls").isPaused).toBe(true);
  });

  it.each([
    ["outbound-calls", "their-worker", /consumer remove outbound-calls their-worker/],
    ["outbound-calls-events", "http_pull", /consumer http remove outbound-calls-events/],
    [
      "outbound-calls-dead",
      "outbound-calls-dialer",
      /remove outbound-calls-dead outbound-calls-dialer/,
    ],
  ])("refuses to go on while of %s %s takes messages", async (name, consumer, message) => {
    await deploy();
    queue(name).consumers.push(consumer);
    await expectRefused(message);
  });

  it.each(["", "mess", "messages/eu/", "epoch/"])(
    "refuses to go on while another rule deletes objects below %j",
    async (prefix) => {
      await deploy();
      rulesOf().set("tidy", { prefix, days: "3" });
      await expectRefused(
        /rule tidy .*deletes objects.*lifecycle remove outbound-calls --name tidy/,
      );
    },
  );

  it("leaves rules of other objects alone", async () => {
    await deploy();
    rulesOf().set("tidy", { prefix: "exports/", days: "3" });
    const { changes } = await deploy();
    expect(changes).toHaveLength(3);
    expect(rulesOf().size).toBe(3);
  });

  it("says which right the API token lacks where the queues cannot be read", async () => {
    account.mayListQueues = false;
    await expectRefused(/Authentication error \[code: 10000\].*Queues Edit/);
  });
});
