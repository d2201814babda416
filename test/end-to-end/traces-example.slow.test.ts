import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { readPageBlocks } from "../support/doc-commands.ts";
import { cloudflare } from "../support/platforms.ts";
import { freePort, makeStateDirectory, repeatUntil, startService } from "../support/service.ts";

const blocks = await readPageBlocks("docs/traces.md");
const [plan = ""] = blocks("json");
const [collect = "", post = ""] = blocks("sh");

it("sends the spans of docs/traces.md to its collector, as pasted", async () => {
  const port = await freePort();
  const collector = spawn("sh", ["-c", `exec ${collect.replace("4318", String(port))}`]);
  let printed = "";
  collector.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const directory = await makeStateDirectory();
  const endpoint = `http://127.0.0.1:${port}`;
  const environment = { DIAL_PLAN: plan, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
  const service = await startService(cloudflare, environment, directory.path);
  try {
    const [, token = ""] = /^export TOKEN=(oc_\w+)$/m.exec(service.output()) ?? [];
    const command = post.replaceAll("http://127.0.0.1:8787", service.address);
    const env = { ...process.env, TOKEN: token };
    const placeCall = async () => {
      const { stdout } = await promisify(execFile)("sh", ["-c", command], { env });
      expect(stdout).toMatch(/^HTTP\/1.1 201 Created/);
    };
    await repeatUntil(placeCall, () => /"name":"dial"/.test(printed));
    expect(printed).toContain("/v1/traces ");
    expect(printed).toContain('"traceId":"4bf92f3577b34da6a3ce929d0e0e4736"');
    expect(printed).not.toContain("2025550123");
  } finally {
    await service.end("SIGTERM");
    collector.kill();
    await directory.remove();
  }
});
