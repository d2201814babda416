import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packed from "#infra/client/package.json" with { type: "json" };
import packageJson from "#package.json" with { type: "json" };
import { programsIn } from "#test/support/doc-programs.ts";
import { installTypescript } from "#test/support/packed-libraries.ts";
import { startReceiver } from "#test/support/receiver.ts";

const root = resolve(import.meta.dirname, "../../..");
const run = promisify(execFile);

/** A program that uses the packed library; `ADDRESS` is the service's. */
const program = `
import { createClient, OutboundCallsError, verifyEvent, type OutboundCallsEvent } from "outbound-calls-client";

const calls = createClient({ baseUrl: "ADDRESS", token: "oc_token" });
const placed = await calls.placeCall({ phone_number: "+12025550123", agent_id: "agent_sales" });
const callId: string | undefined = placed.callIds[0];
console.log(callId);
export function read(headers: Headers, body: string): string | null {
  const event: OutboundCallsEvent = verifyEvent(headers, body, "whsec_");
  return event.type === "call.ended" ? event.data.result.status : null;
}
export async function show(id: string) {
  const { data } = await calls.api.GET("/v1/requests/{id}", { params: { path: { id } } });
  // @ts-expect-error -- an operation that the service does not have
  await calls.api.GET("/v1/nothing");
  // @ts-expect-error -- a call needs an agent
  await calls.placeCall({ phone_number: "+12025550123" });
  return data?.counts?.by_state["PLACED"] ?? 0;
}
export const isOurs = (error: unknown) => error instanceof OutboundCallsError && error.isMaybeAccepted;
`;

describe("the packed library", () => {
  let folder: string;
  let project: Awaited<ReturnType<typeof installTypescript>>;
  let service: Awaited<ReturnType<typeof startReceiver>>;
  beforeAll(async () => {
    project = await installTypescript();
    ({ folder } = project);
    service = await startReceiver((_, response) =>
      response.writeHead(201, { "x-request-id": "01KAJ6Y5G0QZ3N4T7V8W9XABCD" }).end(),
    );
    await writeFile(join(folder, "program.ts"), program.replace("ADDRESS", service.url));
    const shown = [
      ...(await programsIn("README.md")),
      ...(await programsIn("docs/client-typescript.md")),
    ];
    for (const [index, text] of shown.entries()) {
      await writeFile(join(folder, `shown-${index}.ts`), text);
    }
    const globals = "declare const process: { env: Record<string, string | undefined> };";
    await writeFile(join(folder, "globals.d.ts"), globals);
  });
  afterAll(async () => {
    await service.close();
    await project.remove();
  });

  it("has the service's version, and nothing but what is built, its README and its license", async () => {
    expect(packed.version).toBe(packageJson.version);
    const top = await readdir(join(folder, "node_modules/outbound-calls-client"));
    expect(top.toSorted()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
    const files = await readdir(join(folder, "node_modules/outbound-calls-client/dist"), {
      recursive: true,
    });
    expect(files).toEqual(
      expect.arrayContaining(["index.js", "index.d.ts", "generated/openapi.d.ts"]),
    );
    expect(files.filter((name) => !/\.(js|d\.ts)$|^generated$/.test(name))).toEqual([]);
  });

  it("has a README whose links hold outside of the repository", async () => {
    for (const path of ["infra/client/README.md", "infra/client-python/README.md"]) {
      const text = await readFile(join(root, path), "utf8");
      const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
      expect(links.filter((link) => !link.startsWith("https://"))).toEqual([]);
    }
  });

  it("has the fields by which a registry shows it, and can be published with provenance", () => {
    expect(packed.keywords.length).toBeGreaterThan(3);
    expect(packed.publishConfig).toEqual({ access: "public", provenance: true });
  });

  it("is loaded by require in a CommonJS program", async () => {
    const text = `const { createClient } = require("outbound-calls-client");
      console.log(typeof createClient({ baseUrl: "https://calls.example.com", token: "t" }).placeCall);`;
    await writeFile(join(folder, "common.cjs"), text);
    const { stdout } = await run(process.execPath, ["common.cjs"], { cwd: folder });
    expect(stdout).toBe("function\n");
  });

  it("has types that strict programs resolve, without those of Node: ours, and those of the docs", async () => {
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
    const libraries = ["--lib", "es2022,dom,dom.iterable", "--types", ""];
    const tsc = join(root, "node_modules/.bin/tsc");
    const files = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
    expect(files.length).toBeGreaterThan(6);
    const { stdout } = await run(tsc, [...options, ...libraries, ...files], {
      cwd: folder,
    }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });

  it("is imported by Node, and places a call", async () => {
    const { stdout } = await run(process.execPath, ["program.ts"], { cwd: folder });
    expect(stdout).toBe("call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000\n");
    expect(service.received[0]?.headers["idempotency-key"]).toMatch(/^[0-9a-f]{32}$/);
  });

  it("is imported by Deno, with its types, and places a call", async () => {
    const deno = join(root, "test/node_modules/.bin/deno");
    const offline = { DENO_DIR: join(folder, "deno"), DENO_NO_UPDATE_CHECK: "1" };
    const args = ["run", "--check", "--cached-only", "--allow-net=127.0.0.1", "program.ts"];
    const { stdout } = await run(deno, args, { cwd: folder, env: { ...process.env, ...offline } });
    expect(stdout).toBe("call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000\n");
    expect(service.received.at(-1)?.headers["idempotency-key"]).toMatch(/^[0-9a-f]{32}$/);
  });

  it("is bundled for Workers and browsers without any module of Node, in less than 41 kB", async () => {
    const { outputFiles } = await build({
      absWorkingDir: folder,
      entryPoints: ["program.ts"],
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      platform: "neutral", // an import of a module of Node would fail
      mainFields: ["module", "main"],
      conditions: ["workerd", "worker", "browser"],
    });
    const text = outputFiles[0]?.text ?? "";
    expect(text).not.toMatch(/node:|require\("/);
    expect(text.length).toBeLessThan(41_000);
  });
});
