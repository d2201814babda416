import { mkdtempSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AlarmRecipient } from "../../../infra/cli/deploy/aws-alarms.ts";
import { requireOperatorApi } from "../../../infra/cli/deploy/aws-deployment.ts";
import { deployToAws, describeDeployment } from "../../../infra/cli/deploy/aws-deploy.ts";
import { destroyOnAws } from "../../../infra/cli/deploy/aws-destroy.ts";
import { createAwsSecretStore } from "../../../infra/cli/deploy/aws-secrets.ts";
import { DeployError, type Ran, type Tools } from "../../../infra/cli/deploy/tools.ts";
import plan from "../../../infra/dial-plan.json" with { type: "json" };
import { secretTags } from "../../../infra/aws/secret-tags.ts";
import { findCaller, parseTokens } from "../../../shared/settings/tokens.ts";
import { type FakeSecretsManager, startSecretsManager } from "./aws-secrets-manager.ts";
import { routeFields } from "../../support/stand-ins.ts";
import { inSlowTier } from "../../support/per-tier.ts";

const hashKey = "ab".repeat(32);
const url = "https://abc123.execute-api.us-east-1.amazonaws.com";
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
const typed = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4";

/** Words of aws-cdk 2.1148.1, lib/index.js. */
const words = {
  credentials:
    "Unable to resolve AWS account to use. It must be either configured when you define your CDK Stack, or through the environment",
  bootstrap:
    "\n ❌  OutboundCalls failed: OutboundCalls: SSM parameter /cdk-bootstrap/hnb659fds/version not found in aws://111122223333/us-east-1. Has the environment been bootstrapped? Please run 'cdk bootstrap' (see https://docs.aws.amazon.com/cdk/latest/guide/bootstrapping.html)",
  isProtected:
    "ValidationError: Stack [OutboundCalls] cannot be deleted while TerminationProtection is enabled",
  failed:
    "\n ❌  OutboundCalls failed: ToolkitError: The stack named OutboundCalls failed creation",
};

/** A client that nobody answers: these stacks have no table that could be looked at. */
const dynamo = new DynamoDBClient({ region: "us-east-1", endpoint: "http://127.0.0.1:9" });

let aws: FakeSecretsManager;
let ran: string[][];
let printed: string[];
let account: Record<"hasCredentials" | "isBootstrapped" | "isFailing" | "isProtected", boolean>;
let answers: { health: number; withoutToken: number };
let environment: Record<string, string | undefined>;
/** Answer of a person at the terminal; undefined: nobody is there. */
let answered: string | undefined;
let questions: string[];
let settingsFile: string;
const settingsIn = () => JSON.parse(readFileSync(settingsFile, "utf8"));

beforeEach(async () => {
  answered = undefined;
  questions = [];
  settingsFile = join(mkdtempSync(join(tmpdir(), "outbound-calls-")), "settings.json");
  await writeFile(settingsFile, JSON.stringify({ default: { xray: true } }));
  aws = await startSecretsManager();
  ran = [];
  printed = [];
  account = { hasCredentials: true, isBootstrapped: true, isFailing: false, isProtected: false };
  answers = { health: 200, withoutToken: 401 };
  environment = { WEBHOOK_SECRET: secret };
});
afterEach(async () => {
  aws.stop();
  await rm(dirname(settingsFile), { recursive: true });
});

/** Creates what the stack consists of, as far as the command looks at it, unless it is there. */
async function createStack(args: readonly string[]): Promise<void> {
  const name = args.find((one) => one.startsWith("name="))?.slice("name=".length);
  const stackName = name === undefined ? "OutboundCalls" : `OutboundCalls-${name}`;
  if (!aws.secrets.has(`arn:${stackName}:settings`)) {
    for (const [kind, values] of [
      ["settings", { API_TOKENS: [], HASH_KEY: hashKey }],
      ["providers", { UNUSED: "x1" }],
    ] as const) {
      const tags = { [secretTags.stack]: stackName, [secretTags.kind]: kind };
      aws.create(`arn:${stackName}:${kind}`, tags, values);
    }
  }
  const outputs = { [stackName]: { DefaultStageUrl: `${url}/`, LedgerTable: "Ledger" } };
  await mkdir("dist/deploy", { recursive: true });
  await writeFile(args[args.indexOf("--outputs-file") + 1] ?? "", JSON.stringify(outputs));
}

async function runCdk(args: readonly string[]): Promise<Ran> {
  const failed = (stderr: string): Ran => ({ code: 1, stdout: "", stderr });
  const [command] = args;
  if (command === "synth") return { code: 0, stdout: "", stderr: "" };
  if (!account.hasCredentials) return failed(words.credentials);
  if (command === "bootstrap") account.isBootstrapped = true;
  if (command === "destroy" && account.isProtected) return failed(words.isProtected);
  if (command !== "deploy") return { code: 0, stdout: "", stderr: "" };
  if (!account.isBootstrapped) return failed(words.bootstrap);
  if (account.isFailing) return failed(words.failed);
  await createStack(args);
  return { code: 0, stdout: "", stderr: "\n ✅  OutboundCalls\n" };
}

function createTools(): Tools {
  return {
    environment,
    run(command, args, { input, isShown } = {}) {
      expect([command, input, isShown]).toEqual([
        "cdk",
        undefined,
        args[0] === "synth" ? undefined : true,
      ]);
      ran.push([...args]);
      return runCdk(args);
    },
    fetch(asked) {
      const isHealth = new Request(asked).url === `${url}/healthz`;
      const status = isHealth ? answers.health : answers.withoutToken;
      return Promise.resolve(new Response(null, { status }));
    },
    print: (line) => void printed.push(line),
    ask(question) {
      questions.push(question);
      return Promise.resolve(answered);
    },
    askSecret: () => Promise.resolve(undefined),
  };
}

const deploy = async (name?: string, alarms: AlarmRecipient = {}) => {
  const tools = createTools();
  const store = createAwsSecretStore(tools, name, aws.client);
  const looks = { pauseMs: 1, looks: 2 };
  return deployToAws({ tools, store, dynamo }, plan, { name, alarms, settingsFile, looks });
};
const commands = () => ran.map(([command]) => command);
const tokenIn = (lines: string[]) => /oc_\w+/.exec(lines.join("\n"))?.[0] ?? "";
const tokensOf = (stack = "OutboundCalls") =>
  JSON.stringify(aws.current(`arn:${stack}:settings`)["API_TOKENS"]);

describe("npm run deploy:aws", () => {
  it("deploys, sets what is absent, and looks at the service", async () => {
    await deploy();
    expect(commands()).toEqual(["deploy"]);
    expect(ran[0]).toEqual(expect.arrayContaining(["--require-approval", "never"]));
    expect(aws.current("arn:OutboundCalls:settings")).toMatchObject({ WEBHOOK_SECRET: secret });
    expect(aws.current("arn:OutboundCalls:settings")["HASH_KEY"]).toBe(hashKey);
    const token = tokenIn(printed);
    expect(findCaller(token, parseTokens(tokensOf()), 0)?.tokenId).toBe("first");
    expect(printed.join("\n")).toContain(`curl -i ${url}/v1/calls -H`);
    expect(printed.join("\n")).toContain(`GET ${url}/readyz must answer 200`);
  });

  it("tells both functions the service's address where the plan asks for results", async () => {
    await deploy();
    const publicUrl = () => aws.current("arn:OutboundCalls:settings")["PUBLIC_URL"];
    expect(publicUrl()).toBeUndefined();
    const tools = createTools();
    const store = createAwsSecretStore(tools, undefined, aws.client);
    const looks = { pauseMs: 1, looks: 2 };
    await deployToAws({ tools, store, dynamo }, { ...plan, results: {} }, { settingsFile, looks });
    expect(publicUrl()).toBe(url);
    await store.set({ PUBLIC_URL: "https://calls.example" });
    await deployToAws({ tools, store, dynamo }, { ...plan, results: {} }, { settingsFile, looks });
    expect(publicUrl()).toBe("https://calls.example");
  });

  it("gives the dialer alone the secrets of receivers of events, two while one is rotated", async () => {
    const told = { url: "https://example.com/events" };
    const telling = { ...plan, events: { "*": told, "crm-eu": told } };
    const store = createAwsSecretStore(createTools(), undefined, aws.client);
    const deployTelling = () =>
      deployToAws({ tools: createTools(), store, dynamo }, telling, { settingsFile });
    await expect(deployTelling()).rejects.toThrow(/needs EVENTS_SECRET, EVENTS_CRM_EU_SECRET/);
    environment = { ...environment, EVENTS_SECRET: secret, EVENTS_CRM_EU_SECRET: `${secret},x` };
    await expect(deployTelling()).rejects.toThrow(/EVENTS_CRM_EU_SECRET must be whsec_/);
    expect(ran).toEqual([]);
    const both = { EVENTS_SECRET: secret, EVENTS_CRM_EU_SECRET: `${secret},${typed}` };
    environment = { ...environment, ...both };
    await deployTelling();
    expect(aws.current("arn:OutboundCalls:providers")).toMatchObject(both);
    expect(Object.keys(aws.current("arn:OutboundCalls:settings"))).not.toContain("EVENTS_SECRET");
  });

  it("makes nothing twice when it is run again", async () => {
    await deploy();
    const [tokens, settings] = [tokensOf(), aws.current("arn:OutboundCalls:settings")];
    aws.asked.length = 0;
    printed = [];
    environment = {}; // the secrets are there: nothing is asked for
    await deploy();
    expect(tokensOf()).toBe(tokens);
    expect(aws.current("arn:OutboundCalls:settings")).toEqual(settings);
    expect(aws.asked.filter((action) => !/^(?:List|Get)/.test(action))).toEqual([]);
    expect(tokenIn(printed)).toBe("");
  });

  it("says what is missing before it creates anything", async () => {
    environment = {};
    await expect(deploy()).rejects.toThrow(/needs WEBHOOK_SECRET/);
    expect(ran).toEqual([]);
    environment = { WEBHOOK_SECRET: "with space" };
    await expect(deploy()).rejects.toThrow(/printable ASCII/);
    expect(ran).toEqual([]);
  });

  it("asks a person for a secret that the environment lacks", async () => {
    environment = {};
    const tools = { ...createTools(), askSecret: () => Promise.resolve(typed) };
    const store = createAwsSecretStore(tools, undefined, aws.client);
    await deployToAws({ tools, store, dynamo }, plan, { settingsFile });
    expect(aws.current("arn:OutboundCalls:settings")["WEBHOOK_SECRET"]).toBe(typed);
  });

  it("tells how to sign in without credentials, whoever notices", async () => {
    account.hasCredentials = false;
    await expect(deploy()).rejects.toThrow(/no valid AWS credentials/);
    aws.refusal = "ExpiredTokenException";
    await expect(deploy()).rejects.toThrow(/no valid AWS credentials/);
    expect(commands()).toEqual(["deploy"]);
  });

  it("says in a sentence what AWS refuses, without a trace", inSlowTier, async () => {
    aws.refusal = "AccessDeniedException";
    await expect(deploy()).rejects.toThrow(/^The credentials lack a right. AccessDeniedException/);
    aws.refusal = "ThrottlingException";
    await expect(deploy()).rejects.toThrow(/^AWS refused: ThrottlingException: refused/);
    await expect(deploy()).rejects.toBeInstanceOf(DeployError);
  });

  it("bootstraps an account and region where cdk was never used, once a person agrees", async () => {
    account.isBootstrapped = false;
    for (const answer of [undefined, "no", ""]) {
      answered = answer;
      const keeps = { alarmEmail: "ada@example.com" }; // nothing else is asked
      await expect(deploy(undefined, keeps)).rejects.toThrow(/may run npm run cdk -- bootstrap/);
    }
    expect(commands()).toEqual(["deploy", "deploy", "deploy"]);
    ran = [];
    answered = "yes";
    await deploy();
    expect(commands()).toEqual(["deploy", "bootstrap", "deploy"]);
    await deploy();
    expect(commands()).toEqual(["deploy", "bootstrap", "deploy", "deploy"]);
  });

  it("shows why a deployment failed, sets nothing, and can be run again", async () => {
    account.isFailing = true;
    await expect(deploy()).rejects.toThrow(/failed creation/);
    expect(aws.secrets.size).toBe(0);
    account.isFailing = false;
    await deploy();
    expect(findCaller(tokenIn(printed), parseTokens(tokensOf()), 0)?.tokenId).toBe("first");
  });

  it("goes on where an earlier run was interrupted", async () => {
    await createStack(["--outputs-file", "dist/deploy/OutboundCalls.json"]);
    await deploy();
    expect(parseTokens(tokensOf())).toHaveLength(1);
    expect(aws.current("arn:OutboundCalls:settings")["HASH_KEY"]).toBe(hashKey);
    expect(aws.current("arn:OutboundCalls:settings")["WEBHOOK_SECRET"]).toBe(secret);
  });

  it.each([/^Deployed/, /^First token/, /^Set WEBHOOK_SECRET, API_TOKENS/])(
    "goes on after it was killed while it said %s",
    async (line) => {
      const tools = createTools();
      const killed: Tools = {
        ...tools,
        print(said) {
          if (line.test(said)) throw new Error("killed");
          tools.print(said);
        },
      };
      const store = createAwsSecretStore(killed, undefined, aws.client);
      await expect(
        deployToAws({ tools: killed, store, dynamo }, plan, { settingsFile }),
      ).rejects.toThrow(/killed/);
      await deploy();
      expect(parseTokens(tokensOf())).toHaveLength(1);
      // A token that is valid was always shown.
      expect(findCaller(tokenIn(printed.toReversed()), parseTokens(tokensOf()), 0)).toBeDefined();
      expect(aws.current("arn:OutboundCalls:settings")["HASH_KEY"]).toBe(hashKey);
      expect(aws.current("arn:OutboundCalls:settings")["WEBHOOK_SECRET"]).toBe(secret);
    },
  );

  it("keeps a deployment of another name apart", async () => {
    await deploy();
    await deploy("staging");
    expect(ran[1]).toEqual(expect.arrayContaining(["--context", "name=staging"]));
    expect(tokensOf("OutboundCalls-staging")).not.toBe(tokensOf());
    await expect(deploy("Staging")).rejects.toThrow(/--name/);
  });

  it.each([
    [{ health: 503, withoutToken: 401 }, /healthz answered 503/],
    [{ health: 200, withoutToken: 201 }, /answered 201 instead of 401/],
  ])("fails loudly where the service answers %j", async (wrong, message) => {
    answers = wrong;
    await expect(deploy()).rejects.toThrow(message);
    expect(printed.join("\n")).not.toContain("curl");
  });

  it("shows the HASH_KEY that was made once, and says that it belongs in a safe", async () => {
    await deploy();
    expect(printed.join("\n")).toContain(`HASH_KEY, shown only now: ${hashKey}`);
    expect(printed.join("\n")).toContain("It belongs in a safe");
    printed = [];
    await deploy();
    expect(printed.join("\n")).not.toMatch(/HASH_KEY|safe/);
  });

  it("takes the HASH_KEY of a table that was kept, before anybody may place calls", async () => {
    const kept = "cd".repeat(32);
    const current = () => aws.current("arn:OutboundCalls:settings")["HASH_KEY"];
    environment["HASH_KEY"] = "short";
    await expect(deploy()).rejects.toThrow(/32 bytes/);
    expect(commands()).toEqual([]);
    environment["HASH_KEY"] = kept;
    await deploy();
    expect(current()).toBe(kept);
    expect(printed.join("\n")).not.toContain(kept);
    environment["HASH_KEY"] = hashKey;
    await expect(deploy()).rejects.toThrow(/Another HASH_KEY is set/);
    expect(current()).toBe(kept);
  });

  it("leaves a former HASH_KEY beside the current one, which alone is given", async () => {
    await deploy();
    const both = `${"cd".repeat(32)} ${hashKey}`;
    const settings = () => aws.current("arn:OutboundCalls:settings");
    environment["HASH_KEY"] = both;
    await deploy();
    environment["HASH_KEY"] = "cd".repeat(32);
    await deploy();
    expect(settings()["HASH_KEY"]).toBe(both);
  });

  it("makes no token where its output is kept, and shows no key", async () => {
    environment["CI"] = "true";
    await deploy();
    expect(printed.join("\n")).not.toContain(hashKey);
    expect(tokenIn(printed)).toBe("");
    expect(tokensOf()).toBe("[]");
  });

  it("puts no secret into an argument, a line or the file of outputs", async () => {
    await deploy();
    const token = tokenIn(printed);
    const said = JSON.stringify([ran, printed]);
    expect(said).not.toContain(secret);
    for (const shown of [token, hashKey]) expect(said.split(shown)).toHaveLength(2); // the line that shows it
    expect(readFileSync("dist/deploy/OutboundCalls.json", "utf8")).not.toMatch(/oc_|whsec/);
  });
});

describe("npm run deploy:aws and whom alarms tell", () => {
  const ada = "ada@example.com";
  const pager = "arn:aws:sns:us-east-1:111122223333:pager";

  it("says that nobody will be told, last of all, where nobody is named or there to be asked", async () => {
    await deploy();
    expect(printed.at(-2)).toMatch(/^NOBODY WILL BE TOLD OF ALARMS.*--alarm-email ADDRESS/s);
    expect(settingsIn()).toEqual({ default: { xray: true } });
  });

  it.each([
    [{ alarmEmail: ada }, /ada@example.com.*link must be clicked/],
    [{ alarmTopicArn: pager }, /pager, whose policy/],
    [{ alarmEmail: ada, alarmTopicArn: pager }, /pager[^]*ada@/],
  ])("keeps whom it was given in the settings: %j", async (given, said) => {
    await deploy(undefined, given);
    expect(settingsIn()).toEqual({ default: { xray: true, ...given } });
    expect(printed.at(-2)).toMatch(said);
    await deploy(); // a later deployment keeps it, and asks nobody
    expect(settingsIn()).toEqual({ default: { xray: true, ...given } });
    expect(printed.at(-2)).toMatch(said);
    expect(questions).toEqual([]);
  });

  it.each([
    [ada, { alarmEmail: ada }],
    [pager, { alarmTopicArn: pager }],
  ])("asks a person at a terminal, who answers %s", async (answer, kept) => {
    answered = answer;
    await deploy("staging");
    expect(questions).toHaveLength(1);
    expect(settingsIn()).toEqual({ default: { xray: true }, staging: kept });
  });

  it("says in plain words what it means that a person names nobody", async () => {
    answered = "";
    await deploy();
    expect(questions).toHaveLength(1);
    expect(printed.at(-2)).toMatch(/^NOBODY WILL BE TOLD/);
  });

  it.each([
    ["ada", /neither an e-mail address nor the ARN/],
    ["ada@", /alarmEmail/],
    ["arn:aws:sqs:us-east-1:111122223333:queue", /alarmTopicArn/],
  ])("refuses %s before anything is created", async (answer, message) => {
    answered = answer;
    await expect(deploy()).rejects.toThrow(message);
    expect(settingsIn()).toEqual({ default: { xray: true } });
    expect(ran).toEqual([]);
  });
});

describe("an operator's token on AWS", () => {
  it("is let in by default, and refused where the settings turn the operator API off", async () => {
    expect(() => requireOperatorApi(undefined)).not.toThrow();
    expect(() => requireOperatorApi("staging", settingsFile)).not.toThrow();
    await writeFile(settingsFile, JSON.stringify({ default: { operator: false } }));
    expect(() => requireOperatorApi(undefined, settingsFile)).toThrow(
      /"operator": false.*lets nobody in/,
    );
  });
});

describe("npm run deploy:aws -- --dry-run", () => {
  it("says what it would do, and asks nobody", async () => {
    account.hasCredentials = false;
    await describeDeployment(createTools(), plan, {});
    expect(commands()).toEqual(["synth"]);
    expect(aws.asked).toEqual([]);
    expect(printed.join("\n")).toMatch(/cdk bootstrap[^]*cdk deploy[^]*WEBHOOK_SECRET/);
  });

  it("wants no secret for Amazon Connect, whose requests the dialer's role signs", async () => {
    const connect = { provider: "amazon-connect", ...routeFields["amazon-connect"] };
    await describeDeployment(createTools(), { ...plan, agents: { "*": connect } }, {});
    expect(printed.join("\n")).not.toMatch(/ACCESS_KEY|WEBHOOK_SECRET/);
  });
});

describe("npm run destroy:aws", () => {
  it("says what stays, and destroys nothing without --yes", async () => {
    await expect(destroyOnAws(createTools(), {})).rejects.toThrow(/--yes/);
    expect(printed.join("\n")).toMatch(/To stay[^]*table[^]*bucket[^]*HASH_KEY/);
    expect(ran).toEqual([]);
    await destroyOnAws(createTools(), { name: "staging", yes: true });
    expect(ran).toEqual([expect.arrayContaining(["destroy", "--force", "name=staging"])]);
    account.isProtected = true;
    await expect(destroyOnAws(createTools(), { yes: true })).rejects.toThrow(
      /Nothing was destroyed[^]*--no-enable-termination-protection --stack-name OutboundCalls$/,
    );
  });
});
