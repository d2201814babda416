import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const id = "GHSA-2345-6789-cfgh";

/** A registry with a configurable advisory, which answers npm like the real one. */
let known: { severity: string } | undefined;
let registry = "";
let audits = 0;
/** Names of the packages that were asked about. */
const asked = new Set<string>();
const server = createServer((request, response) => {
  const answer = (status: number, body: unknown) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (request.method !== "POST") {
    const name = decodeURIComponent(request.url?.slice(1) ?? "");
    const { version = "", ...more } = locked[`node_modules/${name}`] ?? {};
    const versions = { [version]: { name, version, ...more } };
    answer(200, { name, "dist-tags": { latest: version }, versions });
    return;
  }
  void buffer(request).then((body) => {
    const isZipped = request.headers["content-encoding"] === "gzip";
    const packages: object = JSON.parse((isZipped ? gunzipSync(body) : body).toString());
    for (const name of Object.keys(packages)) asked.add(name);
    if (known === undefined) return answer(405, {});
    const url = `https://github.com/advisories/${id}`;
    audits += 1; // npm caches advisories by their number
    const advisory = { id: audits, url, title: "A hole", vulnerable_versions: "<999", ...known };
    return answer(200, known.severity === "" ? {} : { hono: [advisory] });
  });
});
/** Entries of all lock files whose packages are asked about. */
let locked: Record<string, { version?: string }> = {};
let directory = "";

beforeAll(async () => {
  const locks = [
    "test/mutation/packages",
    "test/packages",
    "infra/client",
    "infra/mcp/packages",
    "infra/aws/packages",
    "",
  ].map(async (folder) => {
    const text = await readFile(join(root, folder, "package-lock.json"), "utf8");
    return Object.entries<{ version?: string }>(JSON.parse(text).packages);
  });
  locked = Object.fromEntries((await Promise.all(locks)).flat());
  directory = await mkdtemp(join(tmpdir(), "audit-"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

async function audit(
  exceptions: object[],
  ...more: string[]
): Promise<{ code: unknown; printed: string }> {
  const path = join(directory, "exceptions.json");
  await writeFile(path, JSON.stringify(exceptions));
  const words = ["infra/cli/audit.ts", "--registry", registry, "--exceptions", path, ...more];
  const env = { ...process.env, npm_config_cache: join(directory, "cache") };
  return new Promise((done) => {
    execFile(process.execPath, words, { cwd: root, env }, (error, stdout) => {
      done({ code: error?.code ?? 0, printed: stdout });
    });
  });
}

it("reports a high vulnerability, and exits with 1 if no exception accepts it", async () => {
  known = { severity: "high" };
  const because = "The part of it that is vulnerable is never called.";
  const other = { advisory: "GHSA-xxxx-xxxx-xxxx", because, until: "2999-01-01" };
  const { code, printed } = await audit([other]);
  expect(printed).toContain("high: hono, A hole");
  expect(code).toBe(1);
});

it("asks about what is deployed and about what builds, tests and deploys it", async () => {
  known = { severity: "" };
  expect(await audit([])).toMatchObject({ code: 0, printed: expect.stringMatching(/^0 known/) });
  for (const name of ["hono", "wrangler", "vitest", "aws-cdk-lib", "playwright-core"])
    expect(asked).toContain(name);
});

it("fails where the registry cannot be asked, unless that is to be reported alone", async () => {
  known = undefined;
  const printed = expect.stringMatching(/^NOT AUDITED/);
  expect(await audit([])).toMatchObject({ code: 2, printed });
  expect(await audit([], "--if-reachable")).toMatchObject({ code: 0, printed });
});
