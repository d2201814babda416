import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describeService } from "../contracts/service.ts";

interface D1Row {
  id: string;
  state: string;
  attempt: number;
  agent_id: string;
  call: string | null;
}

describeService({
  name: "Cloudflare",
  script: "start",
  prefix: "",
  /** By the command that README.md gives an operator. */
  async rows({ stateDirectory }) {
    const words = ["wrangler", "d1", "execute", "LEDGER", "--local", "--json", "--persist-to"];
    const { stdout } = await promisify(execFile)(
      "npx",
      [...words, stateDirectory, "--command", "SELECT * FROM calls"],
      { maxBuffer: 64 * 1024 * 1024, env: { ...process.env, CI: "1" } },
    );
    const answers: { results: D1Row[] }[] = JSON.parse(stdout);
    return answers.flatMap(({ results }) =>
      results.map(({ id, state, attempt, agent_id, call }) => ({
        id,
        state,
        attempt,
        agentId: agent_id,
        call: call === null ? null : JSON.parse(call),
      })),
    );
  },
});
