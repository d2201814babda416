import { DeployError, type Ran, type Tools } from "./tools.ts";

/** Words of cdk and of the SDK without valid credentials (aws-cdk, lib/index.js: resolveEnvironment, fmtObtainCredentialsError). */
const withoutCredentials =
  /Unable to resolve AWS account to use|no credentials have been configured|Could not load credentials|CredentialsProviderError|ExpiredToken|security token included in the request is (?:expired|invalid)|UnrecognizedClientException|InvalidClientTokenId/i;
const withoutRegion = /Region is missing/;
/** Words of cdk where its own bucket and roles are missing (aws-cdk, lib/index.js: "Has the environment been bootstrapped?"). */
const withoutBootstrap = /Has the environment been bootstrapped\?|Is account \S+ bootstrapped\?/;

const credentialsHelp =
  "There are no valid AWS credentials. Sign in (aws sso login, or aws configure), set AWS_PROFILE or the " +
  "AWS_ACCESS_KEY_ID family, then run this again.";
const regionHelp = "There is no region: set AWS_REGION, then run this again.";

/** Resolves to what `send` does. @throws DeployError where the credentials or the region are missing or refused */
export async function orCredentialsError<Value>(send: () => Promise<Value>): Promise<Value> {
  try {
    return await send();
  } catch (error) {
    const said = error instanceof Error ? `${error.name}: ${error.message}` : "";
    if (withoutCredentials.test(said)) throw new DeployError(credentialsHelp);
    if (withoutRegion.test(said)) throw new DeployError(regionHelp);
    throw error;
  }
}

/** Arguments by which every command of cdk means the same deployment and prints what is read here. */
const common = (name: string | undefined) => [
  "--no-color",
  "--no-notices",
  ...(name === undefined ? [] : ["--context", `name=${name}`]),
];

/** Deploys the stack, and bootstraps the account and region first where that was never done. @throws DeployError */
export async function cdkDeploy(
  tools: Tools,
  name: string | undefined,
  outputsFile: string,
): Promise<void> {
  const deploy = () =>
    tools.run("cdk", [
      "deploy",
      ...common(name),
      "--require-approval",
      "never",
      "--progress",
      "events",
      "--outputs-file",
      outputsFile,
    ]);
  let ran = await deploy();
  if (ran.code !== 0 && withoutBootstrap.test(saidBy(ran))) {
    tools.print("cdk has not been used in this account and region: cdk bootstrap …");
    must("bootstrap", await tools.run("cdk", ["bootstrap", ...common(name)]));
    ran = await deploy();
  }
  must("deploy", ran);
}

/** Makes the template, checked by cdk-nag, without an account. @throws DeployError */
export async function cdkSynth(tools: Tools, name: string | undefined): Promise<void> {
  must("synth", await tools.run("cdk", ["synth", ...common(name), "--quiet"]));
}

/** Destroys the stack. @throws DeployError */
export async function cdkDestroy(tools: Tools, name: string | undefined): Promise<void> {
  must("destroy", await tools.run("cdk", ["destroy", ...common(name), "--force"]));
}

const saidBy = ({ stdout, stderr }: Ran): string => `${stdout}\n${stderr}`;

function must(command: string, ran: Ran): void {
  if (ran.code === 0) return;
  const said = saidBy(ran);
  if (withoutCredentials.test(said)) throw new DeployError(credentialsHelp);
  const end = said.trim().split("\n").slice(-15).join("\n");
  throw new DeployError(
    `cdk ${command} failed:\n${end}\nCloudFormation keeps what stood before. Mend the cause and run this again.`,
  );
}
