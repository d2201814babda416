import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleProgram, programsIn } from "../support/doc-programs.ts";
import { cloudflare } from "../support/platforms.ts";
import {
  makeStateDirectory,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

const readme = await readFile("README.md", "utf8");
const [, quickstart = ""] = /<!-- quickstart -->(.*?)<!-- \/quickstart -->/s.exec(readme) ?? [];
const commands = [...quickstart.matchAll(/^```sh\n(.*?)^```$/gms)].map(
  ([, command = ""]) => command,
);

describe("the README's quickstart", () => {
  let service: RunningService;
  let directory: Awaited<ReturnType<typeof makeStateDirectory>>;
  beforeAll(async () => {
    directory = await makeStateDirectory();
    service = await startService(cloudflare, {}, directory.path);
  });
  afterAll(async () => {
    await service.end("SIGTERM");
    await directory.remove();
  });

  it("has a command for each of the two endpoints", () => {
    const paths = commands.map((command) => /:8787(\S+)/.exec(command)?.[1]);
    expect(paths).toEqual(["/v1/calls", "/v1/calls/batch"]);
  });

  it.each(commands)("is answered 201 for what is pasted: %s", async (command) => {
    const [, token = ""] = /^Test token: (oc_\w+),/m.exec(service.output()) ?? [];
    // The test uses a port of its own, as 8787 may be taken.
    const pasted = command.replaceAll(":8787", `:${service.port}`);
    const env = { ...process.env, TOKEN: token };
    const { stdout } = await promisify(execFile)("sh", ["-c", pasted], { env });
    expect(stdout).toMatch(/^HTTP\/1.1 201 Created/);
  });

  it("has the results of its calls told as events", async () => {
    await until(() => service.output().split("call.ended").length === 4, 60_000);
  });

  it("does the same by the library, as do the programs of docs/client.md", async () => {
    const [, token = ""] = /^Test token: (oc_\w+),/m.exec(service.output()) ?? [];
    const url = `http://127.0.0.1:${service.port}`;
    const programs = [...(await programsIn("README.md")), ...(await programsIn("docs/client.md"))];
    const env = {
      ...process.env,
      TOKEN: token,
      OUTBOUND_CALLS_TOKEN: token,
      OUTBOUND_CALLS_URL: url,
    };
    const printed = await Promise.all(
      programs.map(async (program, index) => {
        const file = join(directory.path, `program-${index}.mjs`);
        await writeFile(file, await bundleProgram(program.replace("http://127.0.0.1:8787", url)));
        return (await promisify(execFile)(process.execPath, [file], { env })).stdout;
      }),
    );
    expect(printed).toEqual([
      expect.stringMatching(/by_state: \{ PLACED: 1 \}/),
      "PLACED\n",
      expect.stringMatching(/^\/1\/phone_number .+\n$/),
      "",
      "200 1 undefined\n",
    ]);
  });
});
