import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleProgram, programsIn } from "../support/doc-programs.ts";
import { cloudflare } from "../support/platforms.ts";
import { pythonEnvironment } from "../support/python-library.ts";
import { paste, quickstartCommands, tokenOf } from "../support/quickstart.ts";
import {
  makeStateDirectory,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

describe("README's quickstart", () => {
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

  it("has its calls told as events, with their results seconds later", async () => {
    const told = (event: string) => service.output().split(`event: ${event} call_`).length - 1;
    const begun = Date.now();
    for (const command of quickstartCommands) await paste(command, service);
    await until(() => told("call.placed") === 3);
    await until(() => told("call.ended") === 3, { everyMs: 500 });
    expect(Date.now() - begun).toBeLessThan(60_000);
  });

  it("does the same by the library, as do the programs of its page", async () => {
    const token = tokenOf(service);
    const url = `http://127.0.0.1:${service.port}`;
    const programs = [
      ...(await programsIn("README.md")),
      ...(await programsIn("docs/client-typescript.md")),
    ];
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

  it("is used in Python as its page shows", async () => {
    const shown = await programsIn("docs/client-python.md", "python");
    const programs = shown.filter((program) => !program.includes("fastapi"));
    const env = {
      ...pythonEnvironment(),
      OUTBOUND_CALLS_TOKEN: tokenOf(service),
      OUTBOUND_CALLS_URL: `http://127.0.0.1:${service.port}`,
    };
    const printed = await Promise.all(
      programs.map((program) => promisify(execFile)("python3", ["-c", program], { env })),
    );
    expect(printed.map(({ stdout }) => stdout)).toEqual([
      expect.stringMatching(/^\['call_\w{26}_00000'\]\n$/),
      "2\n",
    ]);
  });
});
