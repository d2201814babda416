import { beforeEach, describe, expect, it } from "vitest";
import type { FakeCloudflare } from "#test/support/cloudflare/account.ts";
import { expectWhole, useDeployment } from "#test/support/cloudflare/deployment.ts";
import { fresh, type Rule } from "#test/support/cloudflare/holdings.ts";

const retentionSeconds = 1_209_600;
const queueNames = [
  "outbound-calls",
  "outbound-calls-dead",
  "outbound-calls-events",
  "outbound-calls-events-dead",
] as const;

const deployment = useDeployment();
let account: FakeCloudflare;
beforeEach(() => ({ account } = deployment()));

/** Deploys, and returns the commands that changed something, and what was printed. */
async function deploy(options = {}) {
  const ada = deployment().person();
  await ada.deploy(options);
  return { changes: ada.changes(), printed: ada.printed.join("\n") };
}

/** Expects that a deployment is refused before anything is changed. */
async function expectRefused(message: RegExp) {
  const before = deployment().changes();
  await expect(deployment().person().deploy()).rejects.toThrow(message);
  expect(deployment().changes()).toEqual(before);
}

const queue = (name: string) => {
  const found = account.queues.get(name);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
};
const retentionOf = (name: string) => queue(name).settings["message_retention_period"];
const rulesOf = () => account.buckets.get("outbound-calls")?.rules ?? [];
const ruleOf = (id: string, prefix: string, days: number): Rule => ({
  id,
  enabled: true,
  conditions: { prefix },
  deleteObjectsTransition: { condition: { type: "Age", maxAge: days * 86_400 } },
});
/** Makes a queue, which a Worker may consume. */
const putQueue = (name: string, retention = retentionSeconds, consumer?: string) =>
  account.queues.set(name, {
    id: fresh(),
    settings: {
      delivery_delay: 0,
      delivery_paused: false,
      message_retention_period: retention,
    },
    consumers: consumer === undefined ? [] : [{ id: fresh(), script: consumer, settings: {} }],
  });
const run = (...words: string[]) => deployment().person().tools.run("wrangler", words);

describe("npm run deploy:cloudflare, of what it finds without the Workers that use it,", () => {
  it.each<[string, () => unknown, RegExp]>([
    ["a database", () => run("d1", "create", "outbound-calls"), /Found D1 outbound-calls, but/],
    [
      "a bucket",
      () => run("r2", "bucket", "create", "outbound-calls"),
      /Found R2 outbound-calls, but/,
    ],
    [
      "a queue that keeps messages for another time",
      () => putQueue("outbound-calls", 345_600),
      /Found the queue outbound-calls, but/,
    ],
    [
      "a queue that somebody consumes",
      () => putQueue("outbound-calls", retentionSeconds, "their-worker"),
      /Found the queue outbound-calls, but/,
    ],
  ])("touches %s only with --adopt", async (_, put, message) => {
    await put();
    await expectRefused(message);
    for (const one of account.queues.values()) one.consumers = [];
    await deploy({ adopt: true });
    expectWhole(deployment());
  });

  it("continues without --adopt if it is the beginning of an interrupted run", async () => {
    putQueue(queueNames[0]);
    putQueue(queueNames[1]);
    const { changes } = await deploy();
    expect(changes).not.toContain(
      "queues create outbound-calls --message-retention-period-secs 1209600",
    );
    expect([...account.queues.keys()]).toEqual(queueNames);
  });

  it("makes a queue again that was deleted beside its Workers", async () => {
    await deployment().stand();
    account.queues.delete("outbound-calls-events");
    await deploy();
    expect(account.queues.has("outbound-calls-events")).toBe(true);
  });
});

describe("npm run deploy:cloudflare, of what it finds of its own,", () => {
  it("fixes a shorter retention and changed rules, and says so", async () => {
    await deployment().stand();
    queue("outbound-calls-events").settings["message_retention_period"] = 345_600;
    rulesOf().splice(0, 1, ruleOf("expire-messages", "messages/", 7));
    const { changes, printed } = await deploy();
    for (const fixed of [
      "queues update outbound-calls-events --message-retention-period-secs 1209600",
      "r2 bucket lifecycle remove outbound-calls --name expire-messages",
      "r2 bucket lifecycle add outbound-calls expire-messages messages/ --expire-days 30",
    ]) {
      expect(changes).toContain(fixed);
      expect(printed).toContain(`Fixed: wrangler ${fixed}`);
    }
    expect(retentionOf("outbound-calls-events")).toBe(retentionSeconds);
    expect(rulesOf()).toContainEqual(ruleOf("expire-messages", "messages/", 30));
  });

  it("reports a paused queue at the end, and leaves it paused, which may be intended", async () => {
    await deployment().stand();
    queue("outbound-calls").settings["delivery_paused"] = true;
    const { changes, printed } = await deploy();
    expect(printed).toMatch(/THE QUEUE outbound-calls IS PAUSED.*resume-delivery outbound-calls/);
    expect(changes.join()).not.toMatch(/resume/);
    expect(queue("outbound-calls").settings["delivery_paused"]).toBe(true);
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
    await deployment().stand();
    const script = consumer === "http_pull" ? {} : { script: consumer };
    queue(name).consumers.push({ id: fresh(), settings: {}, ...script });
    await expectRefused(message);
  });

  it.each(["", "mess", "messages/eu/", "epoch/"])(
    "refuses to go on while another rule deletes objects below %j",
    async (prefix) => {
      await deployment().stand();
      rulesOf().push(ruleOf("tidy", prefix, 3));
      await expectRefused(
        /rule tidy .*deletes objects.*lifecycle remove outbound-calls --name tidy/,
      );
    },
  );

  it("leaves rules of other objects alone", async () => {
    await deployment().stand();
    rulesOf().push(ruleOf("tidy", "exports/", 3));
    const { changes } = await deploy();
    expect(changes).toHaveLength(3);
    expect(rulesOf()).toHaveLength(3);
  });

  it("says which right the API token lacks where the queues cannot be read", async () => {
    account.denied = ["/queues"];
    await expectRefused(/Authentication error \[code: 10000\].*Queues Edit/);
  });
});
