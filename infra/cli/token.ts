/**
 * `npm run token`: prints a new token, for a client of the API, and its entry for API_TOKENS, which holds only the
 * token's hash. With --install it adds the entry to a deployment; with --revoke it takes one away.
 */
import { parseArgs } from "node:util";
import { deploymentOptions, openSecretStore } from "./deploy/open-secret-store.ts";
import { requireOperatorApi } from "./deploy/aws-deployment.ts";
import { createEntry, installToken, revokeToken } from "./deploy/secret-commands.ts";
import { processTools as tools } from "./deploy/tools.ts";
import { printHelp } from "./help.ts";
import { complain, complainOf, print } from "./print.ts";

const usage = `npm run token -- --id ID [--client CLIENT] [--agents AGENT,…] [--rights RIGHT,…] [--mode test] [--not-after TIME]
npm run token -- --id ID --operator [--roles ROLE,…] [--not-after TIME]
npm run token -- --id ID … --install [--platform cloudflare|aws] [--name NAME]
npm run token -- --revoke ID [--operator] [--platform cloudflare|aws] [--name NAME]

Makes a token: prints it once, and its entry, which holds only its hash. --install adds it to a deployment, --revoke removes
it. An ID has lowercase letters, digits and hyphens. RIGHT: call (default), read, cancel, opt_out, events. ROLE: see, find,
send, decide, reveal, configure; all by default. TIME: a date or an instant. --name NAME is a separate deployment.`;

async function run(): Promise<void> {
  printHelp(usage);
  const { values } = parseArgs({
    options: {
      ...deploymentOptions,
      id: { type: "string" },
      client: { type: "string" },
      agents: { type: "string" },
      rights: { type: "string" },
      mode: { type: "string" },
      roles: { type: "string" },
      "not-after": { type: "string" },
      operator: { type: "boolean" },
      install: { type: "boolean" },
      revoke: { type: "string" },
    },
  });
  const { id, client, agents, rights, mode, roles, "not-after": notAfter, revoke } = values;
  const variable = values.operator === true ? "OPERATOR_TOKENS" : "API_TOKENS";
  if (revoke !== undefined) {
    const note = await revokeToken(await openSecretStore(tools, values), variable, revoke);
    print(note === undefined ? `${revoke} is revoked.` : `${revoke} is revoked. ${note}`);
    return;
  }
  if (id === undefined) throw new Error("--id is required");
  const { token, entry } = createEntry(
    {
      id,
      client,
      agents: agents?.split(","),
      rights: rights?.split(","),
      mode,
      roles: roles?.split(","),
      notAfter,
    },
    variable,
  );
  const show = () => print(`Token, shown only now: ${token}`);
  if (values.install === true) {
    if (values.operator === true && values.platform === "aws") requireOperatorApi(values.name);
    await installToken(await openSecretStore(tools, values), variable, { entry, show });
    print(`${id} is valid.`);
    return;
  }
  show();
  print(`${`Entry of ${variable}:`.padEnd(22)} ${JSON.stringify(entry)}`);
}

try {
  await run();
} catch (error) {
  complainOf(error, true);
  complain(usage);
  process.exit(1);
}
