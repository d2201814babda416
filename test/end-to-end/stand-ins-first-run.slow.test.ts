import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { aws, cloudflare } from "../support/platforms.ts";
import { makeStateDirectory, startService, until } from "../support/service.ts";

const page = await readFile("docs/quickstart.md", "utf8");
const [, section = ""] = /^## Providers without an account\n(.*?)^## /ms.exec(page) ?? [];
const [start = "", call = ""] = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(
  ([, command = ""]) => command,
);
/** The plan that is pasted into the shell. */
const [, plan = ""] = /DIAL_PLAN='(.*?)'/s.exec(start) ?? [];

describe.each([cloudflare, aws])("stand-ins with npm run $script", (platform) => {
  it("get the call of the quickstart, and show it without number and context", async () => {
    expect(start).toContain("PROVIDER_STANDINS=true npm start");
    const directory = await makeStateDirectory();
    const environment = { DIAL_PLAN: plan, PROVIDER_STANDINS: "true" };
    const service = await startService(platform, environment, directory.path);
    try {
      const [, token = ""] = /^export TOKEN=(oc_\w+)$/m.exec(service.output()) ?? [];
      const pasted = call.replaceAll("http://127.0.0.1:8787", service.address);
      const env = { ...process.env, TOKEN: token };
      const { stdout } = await promisify(execFile)("sh", ["-c", pasted], { env });
      expect(stdout).toMatch(/^HTTP\/1.1 201 Created/);
      await until(() => service.output().includes('"state":"PLACED"'));
      const lines = service.output().split("\n");
      const [shown = ""] = /^stand-in of vapi: POST .*$/m.exec(section) ?? [];
      const printed = lines.find((line) => line.startsWith("stand-in of vapi")) ?? "";
      const withoutIds = (line: string) => line.replaceAll(/call_\w+/g, "call_…");
      expect(withoutIds(printed)).toBe(withoutIds(shown));
      const output = service.output().replace(/^curl [^]*?'$/m, "");
      expect(output).not.toMatch(/2025550123|Ada/);
    } finally {
      await service.end("SIGTERM");
      await directory.remove();
    }
  });
});
