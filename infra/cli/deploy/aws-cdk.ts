import { DeployError, type Ran, type Tools } from "./tools.ts";

/** Words of cdk and of the SDK without valid credentials (aws-cdk, lib/index.js: resolveEnvironment, fmtObtainCredentialsError). */
const withoutCredentials =
  /Unable to resolve AWS account to use|no credentials have been configured|Could not load credentials|CredentialsProviderError|ExpiredToken|security token included in the request is (?:expired|invalid)|UnrecognizedClientException|InvalidClientTokenId/i;
const withoutRegion = /Region is missing/;
/** Words of cdk where its own bucket and roles are missing (aws-cdk, lib/index.js: "Has the environment been bootstrapped?"). */
const withoutBootstrap = /Has the environment been bootstrapped\?|Is account \S+ bootstrapped\?/;

/** Words of CloudFormation about a stack that is protected against its end. */
const protectedStack =
  /Stack \[([\w-]+)\] cannot be deleted while TerminationProtection is enabled/;
/** Words of CloudFormation, and of cdk, where two change one stack at once. */
const changedMeanwhile =
  /is in \w+_IN_PROGRESS state and can ?not be updated|ChangeSet \[?\S+ (?:does not exist|already exists)|already exists and cannot be created/;
/** Words of AWS about a right that is missing. */
const withoutRight = /^.*(?:is not authorized to perform|AccessDenied|Access Denied).*$/m;

const credentialsHelp =
  "There are no valid AWS credentials. Sign in (aws sso login, or aws configure), set AWS_PROFILE or the " +
  "AWS_ACCESS_KEY_ID family, then run this again.";
const bootstrapQuestion =
  "cdk has not been used in this account and region. Shall cdk bootstrap create its bucket and its roles, one of which " +
  "may create anything? yes or no";
const bootstrapHelp =
  "cdk has not been used in this account and region: have somebody who may run npm run cdk -- bootstrap, then run this again.";
/** The command that takes off the protection of a stack. */
export const unprotect = (stack: string): string =>
  `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name ${stack}`;

const regionHelp = "There is no region: set AWS_REGION, then run this again.";

const rightHelp = "The credentials lack a right. ";
/** Returns true for what `orSentence` throws where a right is missing. */
export const lacksRight = (error: unknown): boolean =>
  error instanceof DeployError && error.message.startsWith(rightHelp);

/** Returns the settings by which a client of the SDK works in the region that cdk deploys to. */
export function regionOf({ environment }: Pick<Tools, "environment">): { region?: string } {
  const region = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"];
  return region === undefined ? {} : { region };
}

/** Resolves to what a request to AWS does. @throws DeployError with what AWS said, and what to do where that is known */
export async function orSentence<Value>(send: () => Promise<Value>): Promise<Value> {
  try {
    return await send();
  } catch (error) {
    const said = error instanceof Error ? `${error.name}: ${error.message}` : "";
    if (withoutCredentials.test(said)) throw new DeployError(credentialsHelp);
    if (withoutRegion.test(said)) throw new DeployError(regionHelp);
    if (said.startsWith("AccessDenied"))
      throw new DeployError(`${rightHelp}${said}`, { cause: error });
    // Errors of the SDK say whose fault they are; others are ours, and keep their trace.
    if (error instanceof Error && "$fault" in error) throw new DeployError(`AWS refused: ${said}`);
    throw error;
  }
}

/** Runs a command of cdk whose progress a person watches. */
const runShown = (tools: Tools, args: readonly string[]) =>
  tools.run("cdk", args, { isShown: true });

/** Arguments by which every command of cdk means the same deployment and prints what is read here. */
const common = (name: string | undefined, context: Context = {}) => [
  "--no-color",
  "--no-notices",
  ...Object.entries({ ...(name === undefined ? {} : { name }), ...context }).flatMap(
    ([key, value]) => ["--context", `${key}=${value}`],
  ),
];

/** Deviations of one deployment from the template: see app.ts. */
export type Context = Partial<Record<"ledgerIndexes" | "withoutLedger" | "unprotected", string>>;

/**
 * Deploys the stack. Where the account and region were never bootstrapped, a person is asked, and it is done first.
 *
 * @param options.outputsFile file for the outputs of the stack
 * @throws DeployError
 */
export async function cdkDeploy(
  tools: Tools,
  name: string | undefined,
  { outputsFile, context }: { outputsFile?: string; context?: Context },
): Promise<void> {
  const deploy = () =>
    runShown(tools, [
      "deploy",
      ...common(name, context),
      "--require-approval",
      "never",
      "--progress",
      "events",
      ...(outputsFile === undefined ? [] : ["--outputs-file", outputsFile]),
    ]);
  let ran = await deploy();
  if (ran.code !== 0 && withoutBootstrap.test(saidBy(ran))) {
    const answer = await tools.ask(bootstrapQuestion);
    if (!/^y(es)?$/i.test(answer ?? "")) throw new DeployError(bootstrapHelp);
    must("bootstrap", await runShown(tools, ["bootstrap", ...common(name)]));
    ran = await deploy();
  }
  must("deploy", ran);
}

/** Makes the template, checked by cdk-nag, without an account. @throws DeployError */
export async function cdkSynth(tools: Tools, name: string | undefined): Promise<void> {
  must("synth", await tools.run("cdk", ["synth", ...common(name), "--quiet"]));
}

/**
 * Has the stack take in resources that stand outside of it. CloudFormation changes nothing else in an import, so cdk is asked
 * to leave all other changes to the next deployment (`--force`): it would ask a person at a terminal.
 *
 * @param mapping identifiers of the resources by their names in the template
 * @throws DeployError
 */
export async function cdkImport(
  tools: Tools,
  name: string | undefined,
  mapping: Record<string, Record<string, string>>,
): Promise<void> {
  const inline = ["--force", "--resource-mapping-inline", JSON.stringify(mapping)];
  must("import", await runShown(tools, ["import", ...common(name), ...inline]));
}

/** Destroys the stack. @throws DeployError */
export async function cdkDestroy(tools: Tools, name: string | undefined): Promise<void> {
  must("destroy", await runShown(tools, ["destroy", ...common(name), "--force"]));
}

const saidBy = ({ stdout, stderr }: Ran): string => `${stdout}\n${stderr}`;

function must(command: Command, ran: Ran): void {
  if (ran.code === 0) return;
  const said = saidBy(ran);
  if (withoutCredentials.test(said)) throw new DeployError(credentialsHelp);
  const end = said.trim().split("\n").slice(-15).join("\n");
  const [, stack] = protectedStack.exec(said) ?? [];
  if (stack !== undefined) {
    throw new DeployError(
      `Nothing was ${doneBy[command]}: ${stack} is protected. Remove the protection, then run this again:\n${unprotect(stack)}`,
    );
  }
  const what = `cdk ${command} failed:\n${end}\n`;
  if (changedMeanwhile.test(said)) {
    throw new DeployError(
      `${what}Somebody else is changing the stack. Wait until that has ended, and run this again.`,
    );
  }
  const [right] = withoutRight.exec(said) ?? [];
  if (right !== undefined) {
    throw new DeployError(
      `${what}${rightHelp}${right.trim()}\nHave it granted, and run this again.`,
    );
  }
  throw new DeployError(
    `${what}CloudFormation keeps the former state. Fix the cause and run this again.`,
  );
}

type Command = "deploy" | "bootstrap" | "synth" | "import" | "destroy";
const doneBy: Record<Command, string> = {
  deploy: "deployed",
  bootstrap: "bootstrapped",
  synth: "made",
  import: "imported",
  destroy: "destroyed",
};
