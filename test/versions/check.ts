/**
 * `npm run test:packages`: what needs other versions and other people's packages, which only this command installs.
 *
 * - The packed libraries place calls on Node 20, 22 and 24, and on each Python from 3.10 on that this machine has.
 * - The middlewares of the libraries' pages take signed events: with Hono, Express and FastAPI.
 * - Three generators make clients of the OpenAPI document that compile, one of which is run, and spectral's rules say nothing of it.
 */
import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { Webhook } from "standardwebhooks";
import { printHelp } from "#infra/cli/help.ts";
import { createTestApi } from "../support/api.ts";
import { programsIn } from "../support/doc-programs.ts";
import { tokens } from "../support/environment.ts";
import { installPython, installTypescript } from "../support/packed-libraries.ts";
import { runPython } from "../support/python-library.ts";
import { startReceiver } from "../support/receiver.ts";

printHelp(`npm run test:packages

Runs the packed client libraries on other versions of Node and Python, the middlewares of their pages, and three generators
over the OpenAPI document. Installs the packages of test/versions, and FastAPI into a folder of its own.`);

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
const own = join(import.meta.dirname, "node_modules");
const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const requestId = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
/** Serves a function of fetch, as no adapter is installed. */
const serveByFetch = `
import { createServer } from "node:http";
export function serve(handle) {
  const server = createServer(async (request, response) => {
    const body = request.method === "GET" ? undefined : Buffer.concat(await request.toArray());
    const answer = await handle(new Request("http://127.0.0.1" + request.url, { method: request.method, headers: request.headers, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}`;
const served = (name: string) => join(root, "functions/api/generated/served", name);
const fastApi = ["fastapi==0.142.2", "httpx==0.28.1"];

const service = await startReceiver((_, response) =>
  response.writeHead(201, { "x-request-id": requestId }).end(),
);
const project = await installTypescript();
const folder = await mkdtemp(join(tmpdir(), "outbound-calls-check-"));
let failures = 0;
await check("TypeScript", checkNodes);
await check("Python", checkPythons);
await check("types of Python", checkPythonTypes);
await check("middlewares in TypeScript", checkNodeMiddlewares);
await check("middleware in Python", checkFastApi);
await check("OpenAPI by spectral", checkSpectral);
await check("OpenAPI by generators", checkGenerators);
await Promise.all([service.close(), project.remove(), rm(folder, { recursive: true })]);
console.log(failures === 0 ? "All is well." : `${failures} failed.`);
process.exit(failures === 0 ? 0 : 1);

async function check(name: string, work: () => Promise<string>): Promise<void> {
  try {
    console.log(`${name}: ${await work()}`);
  } catch (error) {
    failures += 1;
    const { stdout = "", message }: { stdout?: string; message?: string } = Object(error);
    console.error(`${name} failed: ${message}\n${stdout}`);
  }
}

function expectEqual(found: unknown, wanted: unknown): void {
  if (found === wanted) return;
  throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
}

/** Imports the packed library on each Node, and requires it. */
async function checkNodes(): Promise<string> {
  const text = `createClient({ baseUrl: "${service.url}", token: "oc_token" })
    .placeCall(${JSON.stringify(call)}).then(({ callIds }) => console.log(process.version, callIds[0]));`;
  const imports = `import { createClient } from "outbound-calls-client";\n${text}`;
  await writeFile(join(project.folder, "by-import.mjs"), imports);
  const requires = `const { createClient } = require("outbound-calls-client");\n${text}`;
  await writeFile(join(project.folder, "by-require.cjs"), requires);
  const nodes = [join(own, "node20/bin/node"), join(own, "node22/bin/node"), process.execPath];
  const versions = [];
  for (const node of nodes) {
    for (const program of ["by-import.mjs", "by-require.cjs"]) {
      const { stdout } = await run(node, [program], { cwd: project.folder });
      const [version = "", id] = stdout.trim().split(" ");
      expectEqual(id, `call_${requestId}_00000`);
      versions.push(version);
    }
  }
  return [...new Set(versions)].join(", ");
}

/** Installs the wheel beside each Python that is here, and places calls by both clients. */
async function checkPythons(): Promise<string> {
  const named = [10, 11, 12, 13, 14].map((minor) => `python3.${minor}`);
  const kept = globSync(join(homedir(), ".pyenv/versions/3.*/bin/python3"));
  const versions = new Map<string, string>();
  for (const python of ["python3", ...named, ...kept]) {
    const print = ["-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"];
    const version = await run(python, print).then(
      ({ stdout }) => stdout.trim(),
      () => undefined, // it is not here
    );
    if (version !== undefined && Number(version.split(".")[1]) >= 10) versions.set(version, python);
  }
  for (const python of versions.values()) {
    const wheel = await installPython(python);
    for (const client of ["sync", "async"] as const) {
      const task = { url: service.url, token: "oc_token", client, jobs: [{ call }] };
      const [placed] = await runPython(task, { python, sources: wheel.sources });
      expectEqual(placed?.["request_id"], requestId);
    }
    await wheel.remove();
  }
  return [...versions.keys()].join(", ");
}

/** Checks the package's types for the oldest Python that it runs on. */
async function checkPythonTypes(): Promise<string> {
  const options = ["--pythonversion", "3.10", join(root, "infra/client-python/src")];
  const { stdout } = await run(join(own, ".bin/pyright"), options);
  return stdout.trim();
}

/** An event, and the headers of a request with it. */
function signedEvent(by = secret) {
  const body = JSON.stringify({ type: "receiver.test", timestamp: "t", data: {} });
  const at = new Date();
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": "test_1",
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(by).sign("test_1", at, body),
    },
  };
}

/** Posts a right event and a forged one to a running receiver. */
async function expectTaken(url: string): Promise<void> {
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  const taken = await fetch(url, { method: "POST", ...signedEvent() });
  expectEqual(`${taken.status} ${await taken.text()}`, '200 {"taken":"test_1"}');
  const forged = await fetch(url, { method: "POST", ...signedEvent(other) });
  expectEqual(forged.status, 401);
}

async function checkNodeMiddlewares(): Promise<string> {
  const shown = await programsIn(join(root, "docs/client-typescript.md"), "js");
  const starts = {
    hono: `import { serve } from "./serve.mjs"; serve(app.fetch);`,
    express: `const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));`,
  };
  await writeFile(join(project.folder, "serve.mjs"), serveByFetch);
  const packages = { hono: join(root, "node_modules/hono"), express: join(own, "express") };
  for (const [name, start] of Object.entries(starts)) {
    const program = shown.find((text) => text.includes(`from "${name}"`));
    if (program === undefined) throw new Error(`The page shows nothing for ${name}.`);
    await symlink(
      packages[name === "hono" ? "hono" : "express"],
      join(project.folder, "node_modules", name),
    );
    const file = join(project.folder, `${name}.mjs`);
    await writeFile(file, `${program}\n${start}`);
    await withServer(process.execPath, [file], expectTaken);
  }
  return Object.keys(starts).join(", ");
}

/** Runs a program that prints its port, and ends it. */
async function withServer(
  command: string,
  args: readonly string[],
  use: (url: string) => Promise<void>,
): Promise<void> {
  const child = execFile(command, args, { env: { ...process.env, EVENTS_SECRET: secret } });
  let said = "";
  child.stderr?.on("data", (chunk) => (said += String(chunk)));
  try {
    const port = await new Promise<string>((told, failed) => {
      child.stdout?.once("data", (chunk) => told(String(chunk).trim()));
      child.once("exit", () => failed(new Error(said)));
    });
    await use(`http://127.0.0.1:${port}/events`);
  } finally {
    child.kill();
  }
}

/** Asks FastAPI's own test client, as no server of it is installed. */
async function checkFastApi(): Promise<string> {
  const wheel = await installPython();
  const target = join(folder, "fastapi");
  await run("python3", ["-m", "pip", "install", "--quiet", "--target", target, ...fastApi]);
  const shown = await programsIn(join(root, "docs/client-python.md"), "python");
  const program = shown.find((text) => text.includes("fastapi")) ?? "";
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  const text = `
import json, sys
from fastapi.testclient import TestClient
client = TestClient(app)
answers = [client.post("/events", content=one["body"], headers=one["headers"]) for one in json.loads(sys.argv[1])]
print([answers[0].json()["taken"], *(one.status_code for one in answers)])`;
  const events = JSON.stringify([signedEvent(), signedEvent(other)]);
  const env = {
    ...process.env,
    EVENTS_SECRET: secret,
    PYTHONPATH: `${wheel.sources}:${target}`,
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const { stdout } = await run("python3", ["-c", program + text, events], { env });
  expectEqual(stdout.trim(), "['test_1', 200, 401]");
  await wheel.remove();
  return fastApi[0] ?? "";
}

async function checkSpectral(): Promise<string> {
  const rules = join(folder, "spectral.json");
  await writeFile(rules, JSON.stringify({ extends: ["spectral:oas"] }));
  const documents = ["openapi.json", "operator-openapi.json"];
  const options = ["--ruleset", rules, "--fail-severity", "hint"];
  for (const name of documents) {
    await run(join(own, ".bin/spectral"), ["lint", served(name), ...options]);
  }
  return documents.join(", ");
}

/** Makes three clients, and compiles each with TypeScript's strict rules. */
async function checkGenerators(): Promise<string> {
  const input = served("openapi.json");
  const clients = join(folder, "clients");
  await mkdir(clients);
  const generators: Record<string, readonly string[]> = {
    "openapi-ts": ["-i", input, "-o", join(clients, "hey-api"), "-c", "@hey-api/client-fetch"],
    orval: ["--input", input, "--output", join(clients, "orval/client.ts"), "--client", "fetch"],
    "swagger-typescript-api": [
      "generate",
      "-p",
      input,
      "-o",
      join(clients, "swagger"),
      "-n",
      "client.ts",
    ],
  };
  for (const [name, args] of Object.entries(generators)) {
    await run(join(own, ".bin", name), [...args], { cwd: import.meta.dirname });
  }
  const made = ["hey-api/index.ts", "orval/client.ts", "swagger/client.ts"].map((file) =>
    join(clients, file),
  );
  for (const file of made) if (!existsSync(file)) throw new Error(`${file} was not made.`);
  const options = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--module",
    "esnext",
  ];
  const more = ["--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable"];
  await run(join(own, ".bin/tsc"), [...options, ...more, ...made]);
  await placeByGenerated(join(clients, "swagger/client.ts"));
  return Object.keys(generators).join(", ");
}

/** Places a call and a batch by a generated client. */
async function placeByGenerated(client: string): Promise<void> {
  const { app, queue } = createTestApi();
  // It has enums, which Node does not strip.
  const { code } = await transform(await readFile(client, "utf8"), { loader: "ts" });
  const program = client.replace(/ts$/, "mjs");
  await writeFile(program, code);
  const { Api } = await import(program);
  const { v1 } = new Api({
    baseUrl: "https://calls.example.com",
    baseApiParams: { headers: { authorization: `Bearer ${tokens.crm}` } },
    customFetch: async (address: string, init: RequestInit) => app.request(address, init),
  });
  const given = { ...call, context: { name: "Ada" } };
  const one = await v1.createCall(given, { headers: { "Idempotency-Key": "one" } });
  const batch = await v1.createCalls([given, given]);
  const refused = await v1
    .createCall({ ...given, phone_number: "555" })
    .catch((response: Response) => response);
  const statuses = [one, batch, refused].map(({ status }) => status);
  expectEqual([...statuses, queue.take().length].join(), "201,201,422,2");
}
