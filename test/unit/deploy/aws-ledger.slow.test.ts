import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { secretTags } from "../../../infra/aws/secret-tags.ts";
import { deployToAws } from "../../../infra/cli/deploy/aws-deploy.ts";
import { importLedger } from "../../../infra/cli/deploy/aws-import.ts";
import { type Indexes, indexSteps, targetIndexes } from "../../../infra/cli/deploy/aws-indexes.ts";
import { createAwsSecretStore } from "../../../infra/cli/deploy/aws-secrets.ts";
import type { Ran, Tools } from "../../../infra/cli/deploy/tools.ts";
import plan from "../../../infra/dial-plan.json" with { type: "json" };
import { type FakeDynamoDB, type FakeTable, standing, startDynamoDB } from "./aws-dynamodb.ts";
import { type FakeSecretsManager, startSecretsManager } from "./aws-secrets-manager.ts";

const name = "ledgers";
const stackName = `OutboundCalls-${name}`;
const url = "https://abc123.execute-api.us-east-1.amazonaws.com";

let aws: FakeSecretsManager;
let dynamo: FakeDynamoDB;
let directory: string;
let settingsFile: string;
let printed: string[];
let ran: string[][];
/** The stack's own table; undefined: the stack has none. */
let own: string | undefined;
/** Command of cdk before which the process is killed. */
let killedBefore: string | undefined;
/** Parts of the stack that a deployment creates, besides the table. */
let onDeploy: () => void;

const indexesOf = (indexes: Indexes): FakeTable["indexes"] =>
  new Map(
    Object.entries(indexes).map(([one, { hashKey, rangeKey }]) => [
      one,
      standing([hashKey, rangeKey]),
    ]),
  );
const aTable = (more: Partial<FakeTable> = {}): FakeTable => ({
  keys: ["pk", "sk"],
  ttl: "ttl",
  hasRecovery: true,
  isProtected: true,
  indexes: indexesOf(targetIndexes),
  ...more,
});
const tableNamed = (one: string): FakeTable => {
  const found = dynamo.tables.get(one);
  if (found === undefined) throw new Error(`no table ${one}`);
  return found;
};
const settingsIn = async () => JSON.parse(await readFile(settingsFile, "utf8"));
const keepTable = (ledgerTable: string) =>
  writeFile(settingsFile, JSON.stringify({ [name]: { ledgerTable } }));

beforeEach(async () => {
  aws = await startSecretsManager();
  dynamo = await startDynamoDB();
  directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  settingsFile = join(directory, "settings.json");
  await writeFile(settingsFile, "{}");
  [printed, ran, own, killedBefore] = [[], [], "Ledger-1", undefined];
  onDeploy = () => undefined;
  dynamo.tables.set("Ledger-1", aTable());
  for (const kind of ["settings", "providers"]) {
    const tags = { [secretTags.stack]: stackName, [secretTags.kind]: kind };
    const table = kind === "settings" ? { [secretTags.table]: "Ledger-1" } : {};
    const values = { API_TOKENS: [{}], HASH_KEY: "ab".repeat(32), WEBHOOK_SECRET: "x" };
    aws.create(`arn:${kind}`, { ...tags, ...table }, values);
  }
});
afterEach(async () => {
  aws.stop();
  dynamo.stop();
  await rm(directory, { recursive: true });
});

const contextIn = (args: readonly string[], key: string) =>
  args.find((one) => one.startsWith(`${key}=`))?.slice(key.length + 1);

/** Plays cdk and CloudFormation, which makes or removes one index of a table in an update. */
async function runCdk(args: readonly string[]): Promise<Ran> {
  const failed = (stderr: string): Ran => ({ code: 1, stdout: "", stderr });
  const done: Ran = { code: 0, stdout: "", stderr: "" };
  const [command] = args;
  if (command === "synth") {
    await mkdir("dist/cdk.out", { recursive: true });
    const Resources = { Ledger6C8C8D7F: { Type: "AWS::DynamoDB::GlobalTable" } };
    await writeFile(`dist/cdk.out/${stackName}.template.json`, JSON.stringify({ Resources }));
    return done;
  }
  if (command === "import") {
    if (own !== undefined)
      return failed("No new resources compared to the currently deployed stack");
    const mapping = JSON.parse(args[args.indexOf("--resource-mapping-inline") + 1] ?? "");
    own = mapping.Ledger6C8C8D7F.TableName;
    return done;
  }
  if (contextIn(args, "withoutLedger") === "true") {
    own = undefined;
    return done;
  }
  const json = contextIn(args, "ledgerIndexes");
  const wanted = indexesOf(json === undefined ? targetIndexes : JSON.parse(json));
  if (own !== undefined) {
    const table = tableNamed(own);
    const changed = [
      ...[...wanted.keys()].filter((one) => !table.indexes.has(one)),
      ...[...table.indexes.keys()].filter((one) => !wanted.has(one)),
    ];
    if (changed.length > 1)
      return failed("Cannot perform more than one GSI creation or deletion in a single update");
    table.indexes = wanted;
  }
  onDeploy();
  const outputs = args.indexOf("--outputs-file");
  if (outputs >= 0) {
    const text = JSON.stringify({ [stackName]: { DefaultStageUrl: `${url}/` } });
    await mkdir("dist/deploy", { recursive: true });
    await writeFile(args[outputs + 1] ?? "", text);
  }
  return done;
}

const createTools = (environment: Tools["environment"] = {}): Tools => ({
  environment,
  run(_, args) {
    const words = args.join(" ");
    if (killedBefore !== undefined && words.startsWith(killedBefore))
      return Promise.reject(new Error("killed"));
    ran.push([...args]);
    return runCdk(args);
  },
  fetch: (asked) => {
    const isHealth = new Request(asked).url.endsWith("/healthz");
    return Promise.resolve(new Response(null, { status: isHealth ? 200 : 401 }));
  },
  print: (line) => void printed.push(line),
  ask: () => Promise.resolve(undefined),
  askSecret: () => Promise.resolve(undefined),
});
const deploy = (environment: Tools["environment"] = {}) => {
  const tools = createTools(environment);
  const store = createAwsSecretStore(tools, name, aws.client);
  const options = { name, settingsFile, pauseMs: 1, looks: { pauseMs: 1, looks: 2 } };
  return deployToAws({ tools, store, dynamo: dynamo.client }, plan, options);
};
const importing = () => {
  const tools = createTools();
  const deps = { dynamo: dynamo.client, print: tools.print, pauseMs: 1 };
  return importLedger(tools, deps, { name, settingsFile });
};
const commands = () => ran.map(([command]) => command);
const namesIn = (table: string) => [...tableNamed(table).indexes.keys()].toSorted();
const target = Object.keys(targetIndexes).toSorted();

describe("the table of the ledger, at each deployment,", () => {
  it("is left alone where it is as it should be", async () => {
    await deploy();
    expect(commands()).toEqual(["deploy"]);
    expect(dynamo.changes).toEqual([]);
  });

  it.each<[string, Partial<FakeTable>, RegExp]>([
    ["time to live", { ttl: undefined }, /Mended Ledger-1: time to live/],
    ["time to live by its own attribute", { ttl: "until" }, /Mended Ledger-1: time to live/],
    ["point-in-time recovery", { hasRecovery: false }, /Mended Ledger-1: point-in-time recovery/],
    ["protection", { isProtected: false }, /Mended Ledger-1: protection against deletion/],
  ])("gets %s again", async (_, lacking, said) => {
    dynamo.tables.set("Ledger-1", aTable(lacking));
    await deploy();
    expect(tableNamed("Ledger-1")).toEqual(aTable());
    expect(dynamo.changes).toHaveLength(1);
    expect(printed.join("\n")).toMatch(said);
  });

  it("is refused where it is no ledger, or not there", async () => {
    await keepTable("other");
    await expect(deploy()).rejects.toThrow(/^AWS refused: ResourceNotFoundException/);
    dynamo.tables.set("other", aTable({ keys: ["id"] }));
    await expect(deploy()).rejects.toThrow(/The table other has the keys id: it is no ledger/);
    expect(commands()).toEqual([]);
  });

  it("is not that of an earlier stack, which its end has left with the secret of its name", async () => {
    const providers = aws.secrets.get("arn:providers");
    aws.secrets.delete("arn:providers");
    dynamo.tables.clear(); // a person has deleted the table
    own = undefined;
    onDeploy = () => void (providers && aws.secrets.set("arn:providers", providers));
    await deploy({ WEBHOOK_SECRET: `whsec_${"A".repeat(43)}=` });
    expect(commands()).toEqual(["deploy"]);
  });

  it("is not looked at before the first deployment", async () => {
    aws.secrets.clear();
    const deploying = deploy(); // stops for want of secrets
    await expect(deploying).rejects.toThrow(/WEBHOOK_SECRET/);
    expect(dynamo.changes).toEqual([]);
  });
});

describe("the indexes of the ledger change one at a time,", () => {
  const { due, hour, ...others } = targetIndexes as Required<typeof targetIndexes>;
  const former = { ...others, old: { hashKey: "old", rangeKey: "sk" } };
  const later = {
    ...targetIndexes,
    next: { hashKey: "next", rangeKey: "sk" },
    last: { hashKey: "last", rangeKey: "sk" },
  };

  it.each([
    ["forward, from a version with others", former, 3],
    ["back, from a later version", later, 2],
    ["in one deployment where one changes", { ...targetIndexes, next: later.next }, 1],
  ])("%s", async (_, indexes, deployments) => {
    expect([due, hour]).not.toContain(undefined);
    dynamo.tables.set("Ledger-1", aTable({ indexes: indexesOf(indexes) }));
    await deploy();
    expect(namesIn("Ledger-1")).toEqual(target);
    expect(ran).toHaveLength(deployments);
  });

  it("and go on after an interruption", async () => {
    dynamo.tables.set("Ledger-1", aTable({ indexes: indexesOf(former) }));
    killedBefore = "deploy --no-color --no-notices --context name=ledgers --require-approval";
    await expect(deploy()).rejects.toThrow(/killed/);
    expect(ran).toHaveLength(2);
    killedBefore = undefined;
    await deploy();
    expect(namesIn("Ledger-1")).toEqual(target);
  });

  it("of a restored table by DynamoDB itself: made before the deployment, removed after it", async () => {
    await keepTable("restored");
    dynamo.tables.set("restored", aTable({ indexes: indexesOf(former) }));
    killedBefore = "deploy";
    await expect(deploy()).rejects.toThrow(/killed/);
    expect(namesIn("restored")).toEqual([...target, "old"].toSorted());
    killedBefore = undefined;
    await deploy();
    expect(namesIn("restored")).toEqual(target);
    expect(commands()).toEqual(["deploy"]);
  });

  it("and never take another's name", async () => {
    const taken = { ...targetIndexes, due: { hashKey: "backlog", rangeKey: "sk" } };
    dynamo.tables.set("Ledger-1", aTable({ indexes: indexesOf(taken) }));
    await expect(deploy()).rejects.toThrow(/index due of the table has other keys.*another name/);
    const indexes = indexesOf(targetIndexes).set("due", standing(["due", "dueKey"], "ALL"));
    dynamo.tables.set("Ledger-1", aTable({ indexes }));
    await expect(deploy()).rejects.toThrow(/index due of the table has other keys or attributes/);
    expect(commands()).toEqual([]);
  });

  it("in steps of one from any set to any other, which keep all that both have", () => {
    const aSet = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"));
    const toIndexes = (names: string[]): Indexes =>
      Object.fromEntries(names.map((one) => [one, { hashKey: one, rangeKey: "sk" }]));
    fc.assert(
      fc.property(aSet, aSet, (from, to) => {
        const steps = [
          toIndexes(from),
          ...indexSteps(toIndexes(from), toIndexes(to)),
          toIndexes(to),
        ];
        for (const [index, step] of steps.entries()) {
          const before = new Set(Object.keys(steps[index - 1] ?? step));
          const after = new Set(Object.keys(step));
          const made = [...after].filter((one) => !before.has(one));
          const removed = [...before].filter((one) => !after.has(one));
          expect(made.length + removed.length).toBeLessThanOrEqual(1);
          for (const one of from) if (to.includes(one)) expect(after).toContain(one);
        }
      }),
    );
  });
});

describe("npm run deploy:aws -- --import-ledger", () => {
  beforeEach(async () => {
    await keepTable("restored");
    const restored = { ttl: undefined, hasRecovery: false, isProtected: false };
    dynamo.tables.set("restored", aTable({ ...restored, indexes: new Map() }));
  });

  it("makes the restored table the stack's own, whole and protected, and ends the setting", async () => {
    await importing();
    expect(own).toBe("restored");
    expect(tableNamed("restored")).toEqual(aTable());
    expect(await settingsIn()).toEqual({ [name]: {} });
    expect(commands()).toEqual(["deploy", "synth", "import", "deploy"]);
    expect(tableNamed("Ledger-1")).toEqual(aTable()); // the former one is kept
    expect(printed.at(-1)).toMatch(/belongs to OutboundCalls-ledgers now.*former table stands/s);
  });

  it.each([
    "deploy --no-color --no-notices --context name=ledgers --context withoutLedger",
    "synth",
    "import",
    "deploy --no-color --no-notices --context name=ledgers --require-approval",
  ])("goes on after it was killed before %s", async (command) => {
    killedBefore = command;
    await expect(importing()).rejects.toThrow(/killed/);
    killedBefore = undefined;
    // After the setting has ended, an ordinary deployment does the rest.
    if ((await settingsIn())[name].ledgerTable === undefined) await deploy();
    else await importing();
    expect(own).toBe("restored");
    expect(await settingsIn()).toEqual({ [name]: {} });
  });

  it("has nothing to do where the settings name no table", async () => {
    await writeFile(settingsFile, "{}");
    await expect(importing()).rejects.toThrow(/uses its own table already/);
    expect(ran).toEqual([]);
  });
});
