import { stripVTControlCharacters } from "node:util";
import * as z from "#shared/lib/zod.ts";
import { DeployError, mustRun, type Ran, type Tools } from "./tools.ts";

/** Makes wrangler's output readable here: without colours and a banner. What is done is not sent to its makers. */
export function quietWrangler(): void {
  Object.assign(process.env, {
    FORCE_COLOR: "0",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_SEND_METRICS: "false",
  });
}

const notLoggedIn =
  "Not logged in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.";

/** Runs wrangler, which must succeed. @throws DeployError with what wrangler said, and what to do where that is known */
export async function wrangler(
  tools: Tools,
  args: readonly string[],
  input?: string,
): Promise<string> {
  try {
    return await mustRun(tools, "wrangler", { args, input });
  } catch (error) {
    if (!(error instanceof DeployError)) throw error;
    const said = stripVTControlCharacters(error.message); // errors are coloured always
    throw new DeployError(`${said}${adviceOn(said)}`, { cause: error });
  }
}

/** Returns what wrangler said on stdout; undefined if it failed and its output matches `absent`. */
export async function wranglerUnless(
  absent: RegExp,
  tools: Tools,
  args: readonly string[],
): Promise<string | undefined> {
  const ran = await tools.run("wrangler", args);
  if (ran.code === 0) return ran.stdout;
  if (absent.test(textOf(ran))) return undefined;
  const said = textOf(ran);
  throw new DeployError(`wrangler ${args.join(" ")} failed:\n${said}${adviceOn(said)}`);
}

const textOf = ({ stdout, stderr }: Ran) => stripVTControlCharacters(`${stdout}\n${stderr}`).trim();

/** Returns the advice on an error that Cloudflare's API is known to answer with; otherwise an empty text. */
function adviceOn(said: string): string {
  const known: [RegExp, string][] = [
    [/necessary to set a CLOUDFLARE_API_TOKEN/, notLoggedIn],
    [
      /\[code: 10042\]/,
      "R2 is switched on once in an account: in the dashboard under Storage & databases, R2. Then run this again.",
    ],
    [
      /specified queue settings are invalid|\[code: 100128\]/,
      "Messages are kept for 14 days, which needs the plan Workers Paid: in the dashboard under Workers & Pages, Plans. " +
        "Then run this again.",
    ],
    [
      /\[code: (10000|9109)\]/,
      "The API token lacks a right: docs/examples/deploy-cloudflare.yml names those it needs.",
    ],
    [/latest version of your Worker isn't currently deployed/, "Deploy the newest version first."],
  ];
  const advice = known.find(([error]) => error.test(said))?.[1];
  return advice === undefined ? "" : `\n\n${advice}`;
}

const whoamiSchema = z.object({
  loggedIn: z._default(z.boolean(), false),
  accounts: z._default(z.array(z.object({ id: z.string(), name: z.string() })), []),
});

/**
 * Checks that wrangler may act for one account, and returns its id.
 *
 * @throws DeployError if it is not logged in, or has several accounts
 */
export async function checkLogin(tools: Tools): Promise<string> {
  const { stdout } = await tools.run("wrangler", ["whoami", "--json"]);
  const { loggedIn = false, accounts = [] } = parseJson(whoamiSchema, stdout) ?? {};
  if (!loggedIn) {
    throw new DeployError(notLoggedIn);
  }
  const chosen = tools.environment["CLOUDFLARE_ACCOUNT_ID"];
  if (accounts.length > 1 && !chosen) {
    const list = accounts.map(({ id, name }) => `  ${id}  ${name}`).join("\n");
    throw new DeployError(
      `There are several accounts. Set CLOUDFLARE_ACCOUNT_ID to one of:\n${list}`,
    );
  }
  const account = accounts.find(({ id }) => id === chosen) ?? accounts[0];
  const id = chosen ?? account?.id;
  if (!id) throw new DeployError("The API token names no account: set CLOUDFLARE_ACCOUNT_ID.");
  tools.print(`Logged in; account ${account?.name ?? id}.`);
  return id;
}

/** Parses JSON that wrangler printed; undefined if it is not as the schema says. */
export function parseJson<Schema extends z.ZodMiniType>(
  schema: Schema,
  text: string,
): z.output<Schema> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return schema.safeParse(value).data;
}
