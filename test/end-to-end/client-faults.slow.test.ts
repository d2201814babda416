/**
 * The table of client-faults.md: what a developer sees of twelve faults in both languages, against a real service on
 * this machine. `FAULTS=write` writes it anew, with the times that were measured; the test compares all but times and ids.
 */
import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ClientOptions,
  createClient,
  type OutboundCallsClient,
  OutboundCallsError,
} from "#infra/client/index.ts";
import { type Fault, startFaultyServer } from "../support/faulty-server.ts";
import { cloudflare } from "../support/platforms.ts";
import { type PythonJob, runPython } from "../support/python-library.ts";
import { testTokenOf } from "../support/quickstart.ts";
import { startReceiver } from "../support/receiver.ts";
import {
  freePort,
  makeStateDirectory,
  type RunningService,
  startService,
} from "../support/service.ts";

const page = "test/end-to-end/client-faults.md";
const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const wrong = { phone_number: "5550177", agent_id: "", timezone: "Mars/Base" };
const id = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";
/** Tries, waits and limits of both libraries. A try ends after a second only where nothing comes: the machine may be busy. */
const retry = { triesMax: 3, delayMs: 100, tryMsMax: 60_000, msMax: 120_000 };
const bounds = { tries: 3, delay: 0.1, try_timeout: 60, timeout: 120 };
const shortMs = 1_000;

/** The message that a developer sees, and after how long. */
interface Seen {
  message: string;
  isMaybeAccepted: boolean | undefined;
  seconds: number;
}

interface FaultCase {
  name: string;
  url: string;
  hangs?: boolean;
  /** Another one than the service's. */
  token?: string;
  typescript?(calls: OutboundCallsClient): Promise<unknown>;
  options?: object;
  python?: PythonJob;
}

describe("what is seen of a fault", () => {
  let service: RunningService;
  let directory: Awaited<ReturnType<typeof makeStateDirectory>>;
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    directory = await makeStateDirectory();
    service = await startService(cloudflare, {}, directory.path);
  });
  afterAll(async () => {
    await Promise.all(closing.map((close) => close()));
    await service.end("SIGTERM");
    await directory.remove();
  });

  /** Starts a network before the service that has one fault. */
  async function networkOf(fault: Fault): Promise<string> {
    const serve = (request: Request) => {
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(service.root + pathname + search, request));
    };
    const network = await startFaultyServer(serve, () => fault);
    closing.push(() => network.close());
    return network.url;
  }
  /** Starts a gateway that answers 503 by itself. */
  async function gatewayOf(retryAfter: number): Promise<string> {
    const gateway = await startReceiver((_, response) =>
      response.writeHead(503, { "retry-after": String(retryAfter) }).end(),
    );
    closing.push(() => gateway.close());
    return gateway.url;
  }

  async function casesOf(): Promise<FaultCase[]> {
    const url = service.root;
    const hanging = await networkOf("hang after");
    return [
      { name: "nobody listens on the port", url: `http://127.0.0.1:${await freePort()}` },
      { name: "the host is unknown", url: "https://nowhere.invalid" },
      { name: "the service hangs", url: hanging, hangs: true },
      { name: "the token is wrong", url, token: "oc_wrong" },
      {
        name: "three fields are wrong",
        url,
        typescript: (calls) => calls.placeCall(wrong),
        python: { call: wrong },
      },
      { name: "each answer is cut off", url: await networkOf("cut after") },
      { name: "503 with `Retry-After: 1`", url: await gatewayOf(1) },
      { name: "503 with `Retry-After: 3600`", url: await gatewayOf(3_600) },
      {
        name: "ended after 0.5 s",
        url: hanging,
        typescript: (calls) => calls.placeCall(call, { signal: AbortSignal.timeout(500) }),
        python: { call, cancel_after: 0.5 },
      },
      {
        name: "an option is misspelt",
        url,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a program in JavaScript may pass
        typescript: (calls) => calls.placeCall(call, { notbefore: new Date() } as object),
        python: { call, options: { notbefore: "2026-11-21T09:00:00Z" } },
      },
      { name: "the address has no scheme", url: "calls.example.com" },
      {
        name: "waiting 2 s for a service that hangs",
        url: hanging,
        hangs: true,
        typescript: (calls) => calls.waitForRequest(id, { msMax: 2_000 }),
        python: { wait: id, options: { timeout: 2 } },
      },
    ];
  }

  async function seeTypescript(one: FaultCase): Promise<Seen> {
    const options: ClientOptions = {
      baseUrl: one.url,
      token: one.token ?? testTokenOf(service),
      retry: { ...retry, ...(one.hangs && { tryMsMax: shortMs }) },
    };
    const { typescript = (calls) => calls.placeCall(call) } = one;
    const begun = performance.now();
    try {
      await typescript(createClient(options));
    } catch (error) {
      const seconds = (performance.now() - begun) / 1000;
      const message = error instanceof Error ? error.message : String(error);
      const isOurs = error instanceof OutboundCallsError;
      return { message, isMaybeAccepted: isOurs ? error.isMaybeAccepted : undefined, seconds };
    }
    throw new Error(`${one.name}: it succeeded`);
  }

  async function seePython(one: FaultCase): Promise<Seen> {
    const token = one.token ?? testTokenOf(service);
    const jobs = [{ ...(one.python ?? { call }), client_options: { base_url: one.url } }];
    const limits = { ...bounds, ...(one.hangs && { try_timeout: shortMs / 1000 }) };
    const task = { url: one.url, token, bounds: limits, jobs, timed: true };
    const [seen] = await runPython<{ seconds: number; result: Record<string, unknown> }>(task);
    const { error, message } = seen?.result ?? {};
    const fields: { message?: string; maybe_accepted?: boolean } = Object(error);
    return {
      message: String(fields.message ?? message),
      isMaybeAccepted: fields.maybe_accepted,
      seconds: seen?.seconds ?? 0,
    };
  }

  it("is one line that says what is wrong, as client-faults.md shows", async () => {
    const rows = [];
    const told: unknown[] = [];
    for (const one of await casesOf()) {
      const [typescript, python] = [await seeTypescript(one), await seePython(one)];
      told.push([one.name, typescript.isMaybeAccepted, python.isMaybeAccepted]);
      const both = [typescript, python].map(({ seconds }) => `${seconds.toFixed(1)} s`);
      const messages = [typescript, python].map(({ message }) => `\`${steady(message)}\``);
      rows.push([one.name, ...messages, both.join(", ")]);
      for (const { message } of [typescript, python]) {
        expect(message).not.toMatch(/\n|oc_|5550177|Mars/);
      }
    }
    // Undefined: it was no request, or it was cancelled.
    expect(told).toEqual([
      ["nobody listens on the port", false, false],
      ["the host is unknown", false, false],
      ["the service hangs", true, true],
      ["the token is wrong", false, false],
      ["three fields are wrong", false, false],
      ["each answer is cut off", true, true],
      ["503 with `Retry-After: 1`", true, true],
      ["503 with `Retry-After: 3600`", true, true],
      ["ended after 0.5 s", true, undefined],
      ["an option is misspelt", undefined, undefined],
      ["the address has no scheme", undefined, undefined],
      ["waiting 2 s for a service that hangs", false, false],
    ]);
    const head = ["Fault", "TypeScript", "Python", "Time"];
    const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
    const text = await readFile(page, "utf8");
    const [shown = "", before = "", inside = "", after = ""] =
      /^(.*<!-- faults -->\n)(.*)(<!-- \/faults -->.*)$/s.exec(text) ?? [];
    expect(shown).toBe(text);
    if (process.env["FAULTS"] === "write") {
      await writeFile(page, `${before}\n${table.join("\n")}\n\n${after}`);
      return;
    }
    expect(comparable(inside)).toEqual(comparable(table.join("\n")));
  });
});

/** Takes out of a message what is another one each time. */
function steady(message: string): string {
  return message
    .replaceAll(/(127\.0\.0\.1:)\d+/g, "$18787")
    .replaceAll(/\[X-Request-Id \w+\]/g, "[X-Request-Id 01K…]")
    .replaceAll(/within [\d,.]+ (ms|s)\b(?!\.)/g, "within … $1");
}

/** Cells of a table without its times, whose digits are a machine's. */
function comparable(table: string): string[] {
  return table
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^[ |-]*$/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -2)
        .map((cell) => cell.trim())
        .join(" | "),
    );
}
