/**
 * `npm run token -- --id NAME [--client C] [--agents a,b] [--not-after DATE]`: prints a new token, for a
 * client of the API, and its entry for API_TOKENS, which holds only the token's hash.
 */
import { parseArgs } from "node:util";
import { createToken, parseTokens } from "../../shared/platform/tokens.ts";

const usage = "npm run token -- --id NAME [--client C] [--agents a,b] [--not-after DATE]";

function read() {
  const { values } = parseArgs({
    options: {
      id: { type: "string" },
      client: { type: "string" },
      agents: { type: "string" },
      "not-after": { type: "string" },
    },
  });
  const { id, client, agents, "not-after": notAfter } = values;
  if (id === undefined) throw new Error("--id is required");
  const { token, sha256 } = createToken();
  const entry = { id, sha256, client, agents: agents?.split(","), notAfter };
  parseTokens(JSON.stringify([entry]));
  return { token, entry };
}

try {
  const { token, entry } = read();
  console.log(`Token, shown only now: ${token}`);
  console.log(`Entry of API_TOKENS:   ${JSON.stringify(entry)}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.error(usage);
  process.exit(1);
}
