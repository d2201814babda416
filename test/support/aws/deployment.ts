import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { type SecretKind, secretTags } from "#infra/aws/secret-tags.ts";
import type { AlarmRecipient } from "#infra/cli/deploy/aws-alarms.ts";
import type { DeploymentSettings } from "#infra/aws/settings.ts";
import { deployToAws } from "#infra/cli/deploy/aws-deploy.ts";
import { destroyOnAws } from "#infra/cli/deploy/aws-destroy.ts";
import type { Indexes } from "#infra/cli/deploy/aws-indexes.ts";
import { importLedger } from "#infra/cli/deploy/aws-import.ts";
import { createAwsSecretStore } from "#infra/cli/deploy/aws-secrets.ts";
import type { Tools } from "#infra/cli/deploy/tools.ts";
import { deployedPlan } from "../deployed-plan.ts";
import { type FakeAccount, startAccount } from "./account.ts";
import { type CdkRuns, useCdk } from "./real-cdk.ts";
import { findStack, putStack, type Stack } from "./stacks.ts";

/** A person at a terminal, who deploys. */
export interface Person {
  tools: Tools;
  cdk: CdkRuns;
  printed: string[];
  /** Statuses that the service answers. */
  answers: { health: number; withoutToken: number };
  deploy(options?: { plan?: unknown; alarms?: AlarmRecipient }): Promise<void>;
  importLedger(): Promise<void>;
  destroy(options?: { yes: boolean }): Promise<void>;
}

/** A deployment's name, and the path of the file with its settings. */
interface Place {
  name: string;
  settingsFile: string;
}

/** A moment at which a command is cut off. */
interface Cut {
  operation: string;
  number: number;
  moment: "before" | "after";
}

/** A deployment to an account of AWS on this machine, by the real cdk. */
export interface Deployment {
  stackName: string;
  account: FakeAccount;
  /** Path of the settings' file. */
  settingsFile: string;
  settings(): Record<string, object>;
  /** Changes the settings. */
  set(change: { [Name in keyof DeploymentSettings]?: DeploymentSettings[Name] | undefined }): void;
  /** Has the stack stand as the settings say, protected, as an earlier deployment has left it: with other indexes, as given. */
  stand(indexes?: Indexes): void;
  /** The stack; undefined: there is none. */
  stack(): Stack | undefined;
  /** Name of the table in the stack. */
  ownTable(): string | undefined;
  /** Values of the secret that API and dialer read, or of the dialer's own. */
  secretValues(kind?: SecretKind): Record<string, unknown>;
  /** Names of the operations that changed something, in order. */
  changes(): string[];
  /** Has a person's command cut off before or after the nth operation of this name. */
  cutOff(person: Person, cut: Cut): void;
  /** Lets another person begin. */
  person(environment?: Record<string, string>): Person;
}

/**
 * Prepares an account before each test.
 *
 * @param name the deployment beside the first: each file of tests has its own, as the command writes files of that name
 */
export function useDeployment(name: string): () => Deployment {
  const { runsOn, templateOf } = useCdk(name);
  let current: Deployment | undefined;
  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "outbound-calls-"));
    const place = { name, settingsFile: join(folder, "settings.json") };
    current = deploymentOn(await startAccount(), place, { runsOn, templateOf });
    current.set({ alarmEmail: "ada@example.com" });
  });
  afterEach(() => {
    current?.account.stop();
    rmSync(folder, { recursive: true });
  });
  return () => {
    if (current === undefined) throw new Error("no test runs");
    return current;
  };
}

const changing = /:(ExecuteChangeSet|DeleteStack|UpdateTerminationProtection)$/;

function deploymentOn(
  account: FakeAccount,
  place: Place,
  { runsOn, templateOf }: ReturnType<typeof useCdk>,
): Deployment {
  const { name, settingsFile } = place;
  const stackName = `OutboundCalls-${name}`;
  writeFileSync(settingsFile, JSON.stringify({ [name]: {} }));
  const { endpoint, stacks } = account;
  const changes = () => endpoint.asked.filter((one) => changing.test(one));
  const settings = () => JSON.parse(readFileSync(settingsFile, "utf8"))[name];
  const stack = () => findStack(stacks, stackName);
  return {
    stackName,
    account,
    settingsFile,
    settings,
    set: (change) =>
      writeFileSync(settingsFile, JSON.stringify({ [name]: { ...settings(), ...change } })),
    stand(indexes) {
      const context = indexes === undefined ? [] : [`ledgerIndexes=${JSON.stringify(indexes)}`];
      putStack(stacks, stackName, templateOf(settingsFile, context)).isProtected = true;
    },
    stack,
    ownTable: () =>
      [...(stack()?.resources.values() ?? [])].find(
        ({ type }) => type === "AWS::DynamoDB::GlobalTable",
      )?.physicalId,
    secretValues(kind = "settings") {
      const { current, secrets } = account.secrets;
      const [arn = ""] = [...secrets].find(([, one]) => one.tags[secretTags.kind] === kind) ?? [];
      return current(arn);
    },
    changes,
    cutOff(person, { operation, number, moment }) {
      const count = () => endpoint.asked.filter((one) => one === operation).length;
      const begun = count();
      endpoint.cut = (asked, at) => {
        const isIt = asked === operation && count() === begun + number && at === moment;
        if (isIt) person.cdk.kill();
        return isIt;
      };
    },
    person: (environment = {}) =>
      personOn(account, place, runsOn({ ...account.environment, ...environment })),
  };
}

function personOn(account: FakeAccount, { name, settingsFile }: Place, cdk: CdkRuns): Person {
  const printed: string[] = [];
  const { secrets, dynamo, cloudFormation } = account;
  const tools: Tools = {
    environment: { WEBHOOK_SECRET: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3" },
    run: (_, args) => cdk.run(args, settingsFile),
    fetch: (asked) => {
      const { health, withoutToken } = person.answers;
      const status = new Request(asked).url.endsWith("/healthz") ? health : withoutToken;
      return Promise.resolve(new Response(null, { status }));
    },
    print: (line) => void printed.push(line),
    ask: () => Promise.resolve(undefined),
    askSecret: () => Promise.resolve(undefined),
  };
  const person: Person = {
    tools,
    cdk,
    printed,
    answers: { health: 200, withoutToken: 401 },
    deploy({ plan = deployedPlan, alarms = {} } = {}) {
      const store = createAwsSecretStore(tools, name, secrets.client);
      const options = { name, alarms, settingsFile, pauseMs: 1, looks: { pauseMs: 1, looks: 2 } };
      return deployToAws(
        { tools, store, dynamo: dynamo.client, ledger: dynamo.ledger, cloudFormation },
        plan,
        options,
      );
    },
    importLedger() {
      const deps = { dynamo: dynamo.client, cloudFormation, print: tools.print, pauseMs: 1 };
      return importLedger(tools, deps, { name, settingsFile });
    },
    destroy: ({ yes } = { yes: true }) => destroyOnAws({ tools, cloudFormation }, { name, yes }),
  };
  return person;
}
