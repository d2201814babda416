import { readFileSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { requireOperatorApi } from "#infra/cli/deploy/aws-deployment.ts";
import { describeDeployment } from "#infra/cli/deploy/aws-deploy.ts";
import { createAwsSecretStore } from "#infra/cli/deploy/aws-secrets.ts";
import { retireEventsKey, rotateEventsKey } from "#infra/cli/deploy/events-key.ts";
import { createEntry, installToken } from "#infra/cli/deploy/secret-commands.ts";
import { DeployError } from "#infra/cli/deploy/tools.ts";
import { isEventsKey } from "#shared/settings/events-keys.ts";
import { findCaller, parseTokens } from "#shared/settings/tokens.ts";
import { type Person, useDeployment } from "#test/support/aws/deployment.ts";
import { deployedPlan as plan } from "#test/support/deployed-plan.ts";
import { routeFields } from "#test/support/stand-ins.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const deployment = useDeployment("settings");
const hashKey = "ab".repeat(32);
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
const typed = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4";

let ada: Person;
/** Asked at the terminal, and what a person answers; undefined: nobody is there. */
let questions: string[];
let answered: string | undefined;
beforeEach(() => {
  // The stack stands as a first deployment leaves it that was cut off before it set secrets.
  deployment().stand();
  ada = person();
  [questions, answered] = [[], undefined];
});

/** Lets a person begin who may be asked. */
function person(environment: Record<string, string> = { WEBHOOK_SECRET: secret }): Person {
  const made = deployment().person();
  made.tools.environment = environment;
  made.tools.ask = (question) => {
    questions.push(question);
    return Promise.resolve(answered);
  };
  return made;
}
const settingsValues = () => deployment().secretValues();
const tokens = () => JSON.stringify(settingsValues()["API_TOKENS"]);
/** Lets an operator in. */
async function installOperator() {
  const store = createAwsSecretStore(ada.tools, "settings", deployment().account.secrets.client);
  const { entry } = createEntry({ id: "ada" }, "OPERATOR_TOKENS");
  await installToken(store, "OPERATOR_TOKENS", { entry, show: () => undefined });
}
const tokenIn = ({ printed }: Person) => /oc_\w+/.exec(printed.join("\n"))?.[0] ?? "";
/** Address of the API in the outputs of the stack. */
const address = () =>
  deployment().stack()?.outputs.get("DefaultStageUrl")?.replace(/\/$/, "") ?? "";

describe("npm run deploy:aws, by the real cdk,", () => {
  it("deploys, sets what is absent, and looks at the service", async () => {
    await ada.deploy();
    expect(settingsValues()).toMatchObject({ WEBHOOK_SECRET: secret, HASH_KEY: hashKey });
    expect(findCaller(tokenIn(ada), parseTokens(tokens()), 0)?.tokenId).toBe("first");
    expect(ada.printed.join("\n")).toContain(`curl -i ${address()}/v1/calls -H`);
    expect(ada.printed.join("\n")).toContain(`GET ${address()}/readyz must answer 200`);
  });

  it("gives both functions the service's address if the plan asks for results", async () => {
    await ada.deploy({ plan: { ...plan, results: {} } });
    expect(settingsValues()["PUBLIC_URL"]).toBe(address());
    const { client } = deployment().account.secrets;
    const store = createAwsSecretStore(ada.tools, "settings", client);
    await store.set({ PUBLIC_URL: "https://calls.example" });
    await ada.deploy({ plan: { ...plan, results: {} } });
    expect(settingsValues()["PUBLIC_URL"]).toBe("https://calls.example");
  });

  it("gives the dialer alone the secrets of receivers of events, two while one is rotated", async () => {
    const told = { url: "https://acme.internal/events" };
    const telling = { plan: { ...plan, events: { "*": told, "crm-eu": told } } };
    await expect(ada.deploy(telling)).rejects.toThrow(/needs EVENTS_SECRET, EVENTS_CRM_EU_SECRET/);
    Object.assign(ada.tools.environment, {
      EVENTS_SECRET: secret,
      EVENTS_CRM_EU_SECRET: `${secret},x`,
    });
    await expect(ada.deploy(telling)).rejects.toThrow(/EVENTS_CRM_EU_SECRET must be whsec_/);
    expect(ada.cdk.ran).toEqual([]);
    const both = { EVENTS_SECRET: secret, EVENTS_CRM_EU_SECRET: `${secret},${typed}` };
    Object.assign(ada.tools.environment, both);
    await ada.deploy(telling);
    expect(deployment().secretValues("providers")).toMatchObject(both);
    expect(Object.keys(settingsValues())).not.toContain("EVENTS_SECRET");
  });

  it("says what is missing before it changes anything", async () => {
    await expect(person({}).deploy()).rejects.toThrow(/needs WEBHOOK_SECRET/);
    const wrong = person({ WEBHOOK_SECRET: "with space" });
    await expect(wrong.deploy()).rejects.toThrow(/printable ASCII/);
    expect(deployment().account.endpoint.asked).not.toContain("sts:AssumeRole"); // cdk never ran
  });

  it("sets what new code needs before a stack that stands gets it", async () => {
    const { account, set } = deployment();
    set({ alarmEmail: "grace@example.com" });
    const held: string[][] = [];
    account.endpoint.cut = (asked, moment) => {
      if (asked === "cloudformation:ExecuteChangeSet" && moment === "before") {
        held.push(Object.keys(settingsValues()));
      }
      return false;
    };
    await ada.deploy();
    expect(held).not.toEqual([]);
    for (const names of held) {
      expect(names).toEqual(expect.arrayContaining(["EVENTS_KEY", "WEBHOOK_SECRET"]));
    }
  });

  it("makes no other EVENTS_KEY after rotations", async () => {
    await ada.deploy();
    const { client } = deployment().account.secrets;
    const store = createAwsSecretStore(ada.tools, "settings", client);
    await rotateEventsKey(ada.tools, store);
    await retireEventsKey(ada.tools, store);
    const after = settingsValues();
    expect(Object.keys(after).filter(isEventsKey)).toEqual(["EVENTS_KEY_2"]);
    await ada.deploy();
    expect(settingsValues()).toEqual(after);
  });

  it("asks a person for a secret that the environment lacks", async () => {
    const bare = person({});
    bare.tools.askSecret = () => Promise.resolve(typed);
    await bare.deploy();
    expect(settingsValues()["WEBHOOK_SECRET"]).toBe(typed);
  });

  it("says in a sentence what AWS refuses, without a trace", inSlowTier, async () => {
    const { secrets } = deployment().account;
    secrets.refusal = "AccessDeniedException";
    await expect(ada.deploy()).rejects.toThrow(/^The credentials lack a right. AccessDeniedExc/);
    secrets.refusal = "ThrottlingException";
    await expect(ada.deploy()).rejects.toThrow(/^AWS refused: ThrottlingException: refused/);
    await expect(ada.deploy()).rejects.toBeInstanceOf(DeployError);
  });

  it.each([/^Set WEBHOOK_SECRET, EVENTS_KEY/, /^First token/, /^Set API_TOKENS/])(
    "resumes after it was killed while it said %s",
    async (line) => {
      const killed = person();
      killed.tools.print = (said) => {
        if (line.test(said)) throw new Error("killed");
        killed.printed.push(said);
      };
      await expect(killed.deploy()).rejects.toThrow(/killed/);
      await ada.deploy();
      expect(parseTokens(tokens())).toHaveLength(1);
      // A token that is valid was always shown.
      const token = tokenIn(ada) || tokenIn(killed);
      expect(findCaller(token, parseTokens(tokens()), 0)).toBeDefined();
      expect(settingsValues()).toMatchObject({ HASH_KEY: hashKey, WEBHOOK_SECRET: secret });
    },
  );

  it("keeps a deployment of another name apart", async () => {
    const { secrets } = deployment().account;
    const tags = { "outbound-calls:stack": "OutboundCalls", "outbound-calls:secret": "settings" };
    secrets.create("arn:other", tags, { API_TOKENS: [] });
    await ada.deploy();
    expect(secrets.current("arn:other")).toEqual({ API_TOKENS: [] });
    expect(ada.cdk.ran[0]).toEqual(expect.arrayContaining(["--context", "name=settings"]));
  });

  it.each([
    [{ health: 503, withoutToken: 401 }, /healthz answered 503/],
    [{ health: 200, withoutToken: 201 }, /answered 201 instead of 401/],
  ])("fails loudly where the service answers %j", async (wrong, message) => {
    ada.answers = wrong;
    await expect(ada.deploy()).rejects.toThrow(message);
    expect(ada.printed.join("\n")).not.toContain("curl");
  });

  it("shows the HASH_KEY that was made once, and says that it belongs in a safe", async () => {
    await ada.deploy();
    expect(ada.printed.join("\n")).toContain(`HASH_KEY, shown only now: ${hashKey}`);
    expect(ada.printed.join("\n")).toContain("It belongs in a safe");
    const again = person();
    await again.deploy();
    expect(again.printed.join("\n")).not.toMatch(/HASH_KEY|safe/);
  });

  it("takes the HASH_KEY of a table that was kept, before anybody may place calls", async () => {
    const kept = "cd".repeat(32);
    ada.tools.environment["HASH_KEY"] = "short";
    await expect(ada.deploy()).rejects.toThrow(/32 bytes/);
    expect(ada.cdk.ran).toEqual([]);
    ada.tools.environment["HASH_KEY"] = kept;
    await ada.deploy();
    expect(settingsValues()["HASH_KEY"]).toBe(kept);
    expect(ada.printed.join("\n")).not.toContain(kept);
    ada.tools.environment["HASH_KEY"] = hashKey;
    await expect(ada.deploy()).rejects.toThrow(/Another HASH_KEY is set/);
    expect(settingsValues()["HASH_KEY"]).toBe(kept);
  });

  it("leaves a former HASH_KEY beside the current one, which alone is given", async () => {
    const both = `${"cd".repeat(32)} ${hashKey}`;
    ada.tools.environment["HASH_KEY"] = both;
    await ada.deploy();
    ada.tools.environment["HASH_KEY"] = "cd".repeat(32);
    await ada.deploy();
    expect(settingsValues()["HASH_KEY"]).toBe(both);
  });

  it("keeps a HASH_KEY that is rotated, and makes no token, once there are operators", async () => {
    const { client } = deployment().account.secrets;
    const store = createAwsSecretStore(ada.tools, "settings", client);
    Object.assign(ada.tools.environment, { CI: "true", HASH_KEY: hashKey });
    await ada.deploy();
    await installOperator();
    await store.set({ HASH_KEY: `${"cd".repeat(32)} ${hashKey}` });
    const before = settingsValues();
    await expect(ada.deploy()).rejects.toThrow(/Another HASH_KEY is set/);
    expect(settingsValues()).toEqual(before);
    const bob = person();
    await bob.deploy();
    expect(bob.printed.join("\n")).not.toMatch(/First token|shown only now/);
    expect(settingsValues()).toEqual(before);
  });

  it("makes the first token after it was cut off, though there is an operator's meanwhile", async () => {
    await installOperator();
    await ada.deploy();
    expect(findCaller(tokenIn(ada), parseTokens(tokens()), 0)?.tokenId).toBe("first");
    expect(ada.printed.join("\n")).toContain(`HASH_KEY, shown only now: ${hashKey}`);
  });

  it("looks at the service where PUBLIC_URL says, as the stack's own address may be off", async () => {
    await ada.deploy();
    const { client } = deployment().account.secrets;
    const store = createAwsSecretStore(ada.tools, "settings", client);
    await store.set({ PUBLIC_URL: "https://calls.example/phone/" });
    const { fetch } = ada.tools;
    const asked: string[] = [];
    const answerOnlyAt = (begin: string) => {
      ada.tools.fetch = (request, init) => {
        const { url } = new Request(request, init);
        asked.push(url);
        return url.startsWith(begin) ? fetch(request, init) : Promise.reject(new Error("off"));
      };
    };
    answerOnlyAt("https://calls.example/phone/");
    await ada.deploy();
    expect(asked[0]).toBe("https://calls.example/phone/healthz");
    expect(ada.printed.at(-1)).toContain("curl -i https://calls.example/phone/v1/calls -H");
    // A firewall may let callbacks alone pass there.
    answerOnlyAt(address().toLowerCase());
    await ada.deploy();
    expect(ada.printed.at(-1)).toContain(`curl -i ${address()}/v1/calls -H`);
    answerOnlyAt("https://elsewhere.example");
    await expect(ada.deploy()).rejects.toThrow(
      `https://calls.example/phone/healthz answered Error and ${address()}/healthz answered Error`,
    );
    await store.set({ PUBLIC_URL: "http://calls.example" });
    await expect(ada.deploy()).rejects.toThrow(/^PUBLIC_URL must be https/);
  });

  it("makes no token where its output is logged, and shows no key", async () => {
    ada.tools.environment["CI"] = "true";
    await ada.deploy();
    expect(ada.printed.join("\n")).not.toContain(hashKey);
    expect(tokenIn(ada)).toBe("");
    expect(settingsValues()).not.toHaveProperty("API_TOKENS");
  });

  it("puts no secret into an argument, a line or the file of outputs", async () => {
    await ada.deploy();
    const said = JSON.stringify([ada.cdk.ran, ada.printed]);
    expect(said).not.toContain(secret);
    for (const shown of [tokenIn(ada), hashKey]) expect(said.split(shown)).toHaveLength(2); // the line that shows it
    expect(readFileSync(`dist/deploy/${deployment().stackName}.json`, "utf8")).not.toMatch(
      /oc_|whsec/,
    );
  });
});

describe("npm run deploy:aws and who is notified of alarms", () => {
  const mail = "bob@example.com";
  const pager = "arn:aws:sns:us-east-1:111122223333:pager";
  beforeEach(() => deployment().set({ alarmEmail: undefined }));

  it("says last that nobody will be notified, if nobody is named or there to be asked", async () => {
    await ada.deploy();
    expect(ada.printed.at(-2)).toMatch(/^NOBODY RECEIVES ALARMS.*--alarm-email ADDRESS/s);
    expect(deployment().settings()).toEqual({});
  });

  it.each([
    [{ alarmEmail: mail }, /bob@example.com.*link must be clicked/],
    [{ alarmTopicArn: pager }, /pager, whose policy/],
    [{ alarmEmail: mail, alarmTopicArn: pager }, /pager[^]*bob@/],
  ])("keeps whom it was given in the settings: %j", async (alarms, said) => {
    await ada.deploy({ alarms });
    expect(deployment().settings()).toEqual(alarms);
    expect(ada.printed.at(-2)).toMatch(said);
    expect(questions).toEqual([]);
  });

  it.each([
    [mail, { alarmEmail: mail }],
    [pager, { alarmTopicArn: pager }],
  ])("asks a person at a terminal, who answers %s", async (answer, kept) => {
    answered = answer;
    await ada.deploy();
    expect(questions).toHaveLength(1);
    expect(deployment().settings()).toEqual(kept);
  });

  it("keeps whom the settings name, and asks nobody", async () => {
    deployment().set({ alarmEmail: mail });
    await ada.deploy();
    expect(deployment().settings()).toEqual({ alarmEmail: mail });
    expect(ada.printed.at(-2)).toMatch(/bob@example.com.*link must be clicked/);
    expect(questions).toEqual([]);
  });

  it("says in plain words what it means that a person names nobody", async () => {
    answered = "";
    await ada.deploy();
    expect(questions).toHaveLength(1);
    expect(ada.printed.at(-2)).toMatch(/^NOBODY RECEIVES ALARMS/);
  });

  it.each([
    ["ada", /neither an e-mail address nor the ARN/],
    ["ada@", /alarmEmail/],
    ["arn:aws:sqs:us-east-1:111122223333:queue", /alarmTopicArn/],
  ])("refuses %s before anything is created", async (answer, message) => {
    answered = answer;
    await expect(ada.deploy()).rejects.toThrow(message);
    expect(deployment().settings()).toEqual({});
    expect(ada.cdk.ran).toEqual([]);
  });
});

describe("an operator's token on AWS", () => {
  it("is let in by default, and refused where the settings turn the operator API off", () => {
    const { settingsFile } = deployment();
    expect(() => requireOperatorApi(undefined)).not.toThrow();
    expect(() => requireOperatorApi("staging", settingsFile)).not.toThrow();
    writeFileSync(settingsFile, JSON.stringify({ default: { operator: false } }));
    expect(() => requireOperatorApi(undefined, settingsFile)).toThrow(
      /"operator": false.*lets nobody in/,
    );
  });
});

describe("npm run deploy:aws -- --dry-run", () => {
  it("says what it would do, and asks nobody", async () => {
    await describeDeployment(ada.tools, plan, { name: "settings" });
    expect(ada.cdk.ran.map(([command]) => command)).toEqual(["synth"]);
    expect(deployment().account.endpoint.asked).toEqual([]);
    expect(ada.printed.join("\n")).toMatch(/cdk bootstrap[^]*cdk deploy[^]*WEBHOOK_SECRET/);
  });

  it("wants no secret for Amazon Connect, whose requests the dialer's role signs", async () => {
    const connect = { provider: "amazon-connect", ...routeFields["amazon-connect"] };
    const agents = { "*": connect };
    await describeDeployment(ada.tools, { ...plan, agents }, { name: "settings" });
    expect(ada.printed.join("\n")).not.toMatch(/ACCESS_KEY|WEBHOOK_SECRET/);
  });
});

describe("npm run destroy:aws", () => {
  it("says what stays, and destroys nothing without --yes", async () => {
    await expect(ada.destroy({ yes: false })).rejects.toThrow(/--yes/);
    expect(ada.printed.join("\n")).toMatch(/Would stay[^]*table[^]*bucket[^]*HASH_KEY/);
    expect(deployment().account.endpoint.asked).toEqual([]);
  });
});
