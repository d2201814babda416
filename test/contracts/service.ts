import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../infra/cli/calls.ts";
import { createToken } from "../../shared/platform/tokens.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import {
  makeStateDirectory,
  type PlatformUnderTest,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

const { token, sha256 } = createToken();
const operator = createToken();
const reviewAfterSeconds = 8;

const numberOf = (index: number) => `+1303555${String(index).padStart(4, "0")}`;
const callsTo = (agent_id: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    phone_number: numberOf(index),
    agent_id,
    context: { secret: `context of ${numberOf(index)}` },
  }));

function answer(
  request: Received,
  response: Parameters<Parameters<typeof startReceiver>[0]>[1],
  received: Received[],
) {
  const before = received.filter(({ id }) => id === request.id).length - 1;
  switch (request.path) {
    case "/fails":
      // Fails until an operator redials the call.
      if (received.filter(({ path }) => path === "/fails").length > 1) response.end();
      else response.writeHead(500).end("a page about the failure");
      break;
    case "/resets":
      response.socket?.resetAndDestroy();
      break;
    case "/hangs":
      break;
    case "/busy":
      if (before === 0) response.writeHead(429, { "retry-after": "2" }).end();
      else response.writeHead(200).end();
      break;
    case "/waits":
      if (before === 0) response.writeHead(429, { "retry-after": "6" }).end();
      else response.writeHead(200).end();
      break;
    case "/unavailable":
      if (before === 0) response.writeHead(503, { "retry-after": "1" }).end();
      else response.writeHead(200).end();
      break;
    case "/refuses":
      response.writeHead(422).end("{}");
      break;
    case "/redirects":
      response.writeHead(302, { location: "/elsewhere" }).end();
      break;
    case "/again":
      if (before === 0) response.writeHead(500).end();
      else response.writeHead(200).end();
      break;
    default:
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: `provider_${request.id}` }));
  }
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

const environmentFor = ({ url }: Receiver) => ({
  API_TOKENS: JSON.stringify([{ id: "test", sha256 }]),
  OPERATOR_TOKENS: JSON.stringify([{ id: "ops", sha256: operator.sha256 }]),
  DIAL_PLAN: JSON.stringify({
    agents: {
      ...Object.fromEntries(
        ["fails", "resets", "hangs", "busy", "waits", "unavailable", "refuses", "redirects"].map(
          (name) => [name, { provider: "webhook", url: `${url}/${name}` }],
        ),
      ),
      again: { provider: "webhook", url: `${url}/again`, idempotent: true },
      "*": { provider: "webhook", url: `${url}/dial` },
    },
    providers: { webhook: { timeoutSeconds: 2 } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
    reviewAfterSeconds,
  }),
});

const post = (
  service: RunningService,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) =>
  fetch(service.address + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

/** Describes the whole service as started by its own command, on any platform. */
export function describeService(platform: PlatformUnderTest): void {
  describe(`${platform.script} with a dial plan`, () => {
    let receiver: Receiver;
    let service: RunningService;
    let directory: Awaited<ReturnType<typeof makeStateDirectory>>;

    beforeAll(async () => {
      receiver = await startReceiver(answer);
      directory = await makeStateDirectory();
      service = await startService(platform, environmentFor(receiver), directory.path);
    });
    afterAll(async () => {
      await service.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    });

    it("hands one call, a batch of 100 and a batch of 5,000 to the receiver, each call once", async () => {
      const statuses = [
        await post(service, "/v1/calls", callsTo("one", 1)[0]),
        await post(service, "/v1/calls/batch", callsTo("hundred", 100)),
        await post(service, "/v1/calls/batch", callsTo("thousands", 5000)),
      ].map(({ status }) => status);
      expect(statuses).toEqual([201, 201, 201]);
      await until(() => receiver.to("/dial").length >= 5101, 90_000);
      const bodies = receiver
        .to("/dial")
        .map(({ text }): Record<string, unknown> => JSON.parse(text));
      expect(new Set(bodies.map(({ id }) => id)).size).toBe(5101);
      for (const [agent, count] of [
        ["one", 1],
        ["hundred", 100],
        ["thousands", 5000],
      ] as const) {
        const numbers = bodies
          .filter(({ agent_id }) => agent_id === agent)
          .map((one) => one["phone_number"]);
        expect(numbers).toHaveLength(count);
        expect(new Set(numbers)).toEqual(
          new Set(callsTo(agent, count).map((one) => one.phone_number)),
        );
      }
      expect(bodies.find(({ agent_id }) => agent_id === "one")).toEqual({
        id: expect.stringMatching(/^call_[0-9A-HJKMNP-TV-Z]{26}_00000$/),
        request_id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
        phone_number: numberOf(0),
        agent_id: "one",
        context: { secret: `context of ${numberOf(0)}` },
        timezone: null,
        accepted_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      });
    });

    it("dials once what is posted again under one Idempotency-Key", async () => {
      const before = receiver.to("/dial").length;
      const batch = callsTo("repeated", 100);
      for (let n = 0; n < 3; n++) {
        const { status } = await post(service, "/v1/calls/batch", batch, {
          "idempotency-key": "batch",
        });
        expect(status).toBe(201);
      }
      const twenty = await Promise.all(
        Array.from({ length: 20 }, () =>
          post(service, "/v1/calls", callsTo("repeated", 1)[0], { "idempotency-key": "call" }),
        ),
      );
      expect(twenty.map(({ status }) => status)).toEqual(twenty.map(() => 201));
      const other = await post(service, "/v1/calls", callsTo("other", 1)[0], {
        "idempotency-key": "call",
      });
      expect(other.status).toBe(422);
      await until(() => receiver.to("/dial").length >= before + 101, 30_000);
      await new Promise((next) => setTimeout(next, 4000));
      expect(receiver.to("/dial").length).toBe(before + 101);
    });

    it("refuses a batch for one bad element, and hands over none of it", async () => {
      const before = receiver.received.length;
      const calls: object[] = callsTo("bad", 1000);
      calls[512] = { phone_number: "not a number", agent_id: "bad" };
      const response = await post(service, "/v1/calls/batch", calls);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ errors: [{ pointer: "/512/phone_number" }] });
      await new Promise((next) => setTimeout(next, 2000));
      expect(receiver.received.length).toBe(before);
    });

    it("never repeats a call that may have been placed: it is UNKNOWN, then NEEDS_REVIEW with its payload", async () => {
      const agents = ["fails", "resets", "hangs", "redirects"];
      for (const agent of agents) await post(service, "/v1/calls", callsTo(agent, 1)[0]);
      await until(() => agents.every((agent) => receiver.to(`/${agent}`).length > 0), 20_000);
      const mine = async () =>
        (await platform.rows(service)).filter((row) => agents.includes(row.agentId));
      await until(async () => (await mine()).some(({ state }) => state === "UNKNOWN"), 20_000);
      await until(
        async () => (await mine()).every(({ state }) => state === "NEEDS_REVIEW"),
        reviewAfterSeconds * 1000 + 30_000,
      );
      for (const row of await mine()) {
        expect(row.request).toMatchObject(callsTo(row.agentId, 1)[0] ?? {});
        expect(row.attempt).toBe(1);
      }
      expect(agents.map((agent) => receiver.to(`/${agent}`).length)).toEqual([1, 1, 1, 1]);
      expect(receiver.to("/elsewhere")).toEqual([]);
    });

    it("sends once more, and when it was told to, what was surely not placed", async () => {
      for (const agent of ["busy", "unavailable"]) {
        await post(service, "/v1/calls", callsTo(agent, 1)[0]);
      }
      await until(
        () => ["/busy", "/unavailable"].every((path) => receiver.to(path).length === 2),
        30_000,
      );
      const [first, second] = receiver.to("/busy");
      const waitedMs = (second?.at ?? 0) - (first?.at ?? 0);
      expect(waitedMs).toBeGreaterThanOrEqual(2000);
      expect(waitedMs).toBeLessThanOrEqual(10_000);
      await new Promise((next) => setTimeout(next, 3000));
      expect(receiver.to("/busy")).toHaveLength(2);
    });

    it("sends a refused call once, and an unknown one to an idempotent receiver again", async () => {
      await post(service, "/v1/calls", callsTo("refuses", 1)[0]);
      await post(service, "/v1/calls", callsTo("again", 1)[0]);
      await until(() => receiver.to("/again").length === 2, 30_000);
      const [first, second] = receiver.to("/again");
      expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
      const mine = async () =>
        (await platform.rows(service)).filter(({ agentId }) =>
          ["refuses", "again"].includes(agentId),
        );
      await until(async () => (await mine()).every(({ state }) => state !== "DIALING"), 10_000);
      const states = (await mine()).map(({ agentId, state }) => [agentId, state]);
      expect(Object.fromEntries(states)).toEqual({ again: "PLACED", refuses: "REJECTED" });
      expect(receiver.to("/refuses")).toHaveLength(1);
    });

    /** Runs `npm run calls` like an operator. */
    const calls = async (...words: string[]) => {
      const out: string[] = [];
      const code = await run([...words, "--json"], {
        environment: {
          OUTBOUND_CALLS_URL: service.address,
          OUTBOUND_CALLS_OPERATOR_TOKEN: operator.token,
        },
        fetch,
        print: (line) => out.push(line),
        complain: (line) => out.push(line),
        isInteractive: false,
      });
      return { code, answers: out.map((line): Record<string, unknown> => JSON.parse(line)) };
    };

    it("lets an operator find a call under review, and have it made again, once", async () => {
      const { answers } = await calls("list", "--state", "NEEDS_REVIEW", "--agent", "fails");
      expect(answers).toHaveLength(1);
      const id = String(answers[0]?.["id"]);
      const redials = await Promise.all([
        calls("redial", id, "--not-placed"),
        calls("redial", id, "--not-placed"),
      ]);
      expect(redials.map(({ code }) => code)).toEqual([0, 0]);
      const made = new Set(redials.map((one) => one.answers[0]?.["id"]));
      expect(made.size).toBe(1);
      await until(() => receiver.to("/fails").length === 2, 20_000);
      expect(receiver.to("/fails")[1]?.id).toBe([...made][0]);
      await new Promise((next) => setTimeout(next, 3000));
      expect(receiver.to("/fails")).toHaveLength(2);
      const story = await calls("show", id);
      expect(story.answers[0]).toMatchObject({ state: "REDIALED", redialed_as: [...made][0] });
    });

    it("keeps the calls of an agent that an operator pauses, ends those that are cancelled", async () => {
      await calls("pause", "--agent", "paused");
      await post(service, "/v1/calls/batch", callsTo("paused", 20));
      const waiting = async () =>
        (await calls("list", "--state", "WAITING", "--agent", "paused", "--limit", "20")).answers;
      // The log is checked first: a list that does not find its twenty calls would scan every call.
      const told = () =>
        service
          .output()
          .split("\n")
          .filter(
            (line) => line.includes('"call.waiting"') && line.includes('"agent_id":"paused"'),
          );
      await until(() => told().length === 20, 20_000, 500);
      expect(await waiting()).toHaveLength(20);
      const [one, two] = await waiting();
      const cancelled = await calls("cancel", String(one?.["id"]), String(two?.["id"]));
      expect(cancelled.code).toBe(0);
      expect(receiver.received.filter(({ text }) => text.includes('"agent_id":"paused"'))).toEqual(
        [],
      );
      await calls("resume", "--agent", "paused");
      const pausedOnes = () =>
        receiver.received.filter(({ text }) => text.includes('"agent_id":"paused"'));
      await until(() => pausedOnes().length === 18, 30_000);
      await new Promise((next) => setTimeout(next, 2000));
      expect(pausedOnes()).toHaveLength(18);
      expect(pausedOnes().map(({ id }) => id)).not.toContain(one?.["id"]);
    });

    it("phones nobody on the do-not-call list", async () => {
      const [never] = callsTo("never", 1);
      await calls("dnc", "add", never?.phone_number ?? "");
      await post(service, "/v1/calls", never);
      const rejected = async () =>
        (await calls("list", "--state", "REJECTED", "--agent", "never")).answers;
      await until(async () => (await rejected()).length === 1, 20_000, 500);
      expect((await rejected())[0]).toMatchObject({ reason: "do_not_call", number_tail: "00" });
      expect(receiver.received.filter(({ text }) => text.includes('"never"'))).toEqual([]);
      await calls("dnc", "remove", never?.phone_number ?? "");
      const { answers } = await calls("stats");
      expect(answers[0]).toMatchObject({ standing: { NEEDS_REVIEW: 3 } });
    });

    it("answers over a real connection as the contract says", async () => {
      const valid = callsTo("x", 1)[0];
      const bearer = { authorization: `Bearer ${token}` };
      const json = { "content-type": "application/json" };
      for (const path of ["/v1/calls", "/v1/calls/batch"]) {
        const answers = {
          "no token": await fetch(service.address + path, {
            method: "POST",
            headers: json,
            body: "{}",
          }),
          "wrong token": await post(service, path, valid, { authorization: "Bearer oc_wrong" }),
          "wrong scheme": await post(service, path, valid, { authorization: `Basic ${token}` }),
          "malformed JSON": await post(service, path, "{"),
          "wrong content type": await post(service, path, valid, { "content-type": "text/plain" }),
          "invalid UTF-8": await fetch(service.address + path, {
            method: "POST",
            headers: { ...bearer, ...json },
            body: new Uint8Array([0x22, 0xff, 0x22]),
          }),
          "empty batch": await post(service, path, []),
          "too many": await post(service, path, callsTo("x", 10_001)),
        };
        const statuses = Object.entries(answers).map(([name, { status }]) => [name, status]);
        expect(Object.fromEntries(statuses)).toEqual({
          "no token": 401,
          "wrong token": 401,
          "wrong scheme": 401,
          "malformed JSON": 422,
          "wrong content type": 422,
          "invalid UTF-8": 422,
          "empty batch": 422,
          "too many": 422,
        });
        await Promise.all(Object.values(answers).map((one) => one.arrayBuffer()));
      }
    });

    it("takes a body that comes in pieces, and refuses one that grows too large", async () => {
      const send = (pieces: string[]) =>
        new Promise<string>((answered, failed) => {
          const socket = connect(service.port, "127.0.0.1").on("error", failed);
          let text = "";
          socket.on("data", (chunk: Buffer) => {
            text += chunk.toString();
            if (text.includes("\r\n\r\n")) socket.end(() => answered(text.slice(9, 12)));
          });
          socket.write(
            `POST ${platform.prefix}/v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
              "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
          );
          for (const piece of pieces) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
          socket.write("0\r\n\r\n");
        });
      const [call = ""] = callsTo("pieces", 1).map((one) => JSON.stringify(one));
      expect(await send([call.slice(0, 20), call.slice(20)])).toBe("201");
      expect(await send([call, " ".repeat(64 * 1024)])).toBe("422");
    });

    it("takes no request whose length is told in two ways or in none", async () => {
      const statusOf = (text: string) =>
        new Promise<string>((answered) => {
          const socket = connect(service.port, "127.0.0.1");
          let got = "";
          const end = () => {
            socket.destroy();
            answered(got.slice(9, 12));
          };
          socket.on("data", (chunk: Buffer) => {
            got += chunk.toString();
            if (got.includes("\r\n\r\n")) end();
          });
          socket.on("error", end).on("close", end).setTimeout(2000, end);
          socket.write(text);
        });
      const [body = ""] = callsTo("framing", 1).map((one) => JSON.stringify(one));
      const head =
        `POST ${platform.prefix}/v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        "Content-Type: application/json\r\n";
      const size = body.length.toString(16);
      const chunked = `${size}\r\n${body}\r\n0\r\n\r\n`;
      const framed = (headers: string, text: string) => `${head}${headers}\r\n\r\n${text}`;
      const length = `Content-Length: ${body.length}`;
      const odd = {
        "two lengths": framed(`${length}\r\nContent-Length: 4`, body),
        "a list of lengths": framed(`${length}, 4`, body),
        "a length with a sign": framed(`Content-Length: +${body.length}`, body),
        "a negative length": framed("Content-Length: -1", body),
        "an unknown coding": framed("Transfer-Encoding: xchunked", chunked),
        "a coding after chunked": framed("Transfer-Encoding: chunked, identity", chunked),
        "two codings": framed("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", chunked),
        "a space before the colon": framed("Transfer-Encoding : chunked", chunked),
        "a folded header": framed("Transfer-Encoding:\r\n chunked", chunked),
        "a chunk's size with a sign": framed("Transfer-Encoding: chunked", `-${chunked}`),
        "a chunk's size as 0x": framed("Transfer-Encoding: chunked", `0x${chunked}`),
        "a body that ends early": framed(`Content-Length: ${body.length + 5}`, body),
        "NUL in a header": framed(`X-Note: a\0b\r\n${length}`, body),
      };
      for (const [name, text] of Object.entries(odd)) {
        expect([name, await statusOf(text)]).toEqual([name, expect.toBeOneOf(["400", "500", ""])]);
      }
      // A request with both headers may be read by its transfer coding alone (RFC 9112, 6.3): as one call, or
      // as none.
      const both = await statusOf(
        framed("Content-Length: 4\r\nTransfer-Encoding: chunked", chunked),
      );
      expect(both).toBeOneOf(["400", "201"]);
      await post(service, "/v1/calls", callsTo("framing_ends", 1)[0]);
      const receivedOf = (agent: string) =>
        receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`));
      await until(() => receivedOf("framing_ends").length === 1, 20_000);
      await until(() => receivedOf("framing").length === (both === "201" ? 1 : 0), 20_000);
    });

    it("has logged no number, no context and no token in all of this", () => {
      const log = service.output();
      const counted = (pattern: RegExp) => log.match(pattern)?.length ?? 0;
      expect(counted(/"event":"call.placed"/g)).toBeGreaterThan(5000);
      // Two deliveries that move one call to review at the same time may both log it.
      const reviewed = log
        .split("\n")
        .filter((line) => line.includes('"event":"call.needs_review"'));
      const idsOf = (line: string) => /"call_id":"(\w+)"/.exec(line)?.[1];
      expect(new Set(reviewed.map(idsOf)).size).toBe(4);
      // The log contains no number, with or without country code, no context and no token.
      expect(log.match(/303555\d{4}/)?.[0]).toBeUndefined();
      expect(counted(/context of/g)).toBe(0);
      expect(log.split(token)).toHaveLength(1);
      expect(log.split(operator.token)).toHaveLength(1);
      const lines = log.split("\n").filter((line) => line.startsWith("{"));
      for (const line of lines)
        expect(JSON.parse(line)).toMatchObject({ event: expect.any(String) });
    });
  });

  describe(`${platform.script} on this machine`, () => {
    it("prints a curl line that works when pasted, and simulates the call", async () => {
      const directory = await makeStateDirectory();
      const service = await startService(platform, {}, directory.path);
      const line =
        service
          .output()
          .split("\n")
          .find((one) => one.startsWith("curl")) ?? "";
      const { execFile } = await import("node:child_process");
      const answered = await new Promise<string>((done) => {
        execFile("sh", ["-c", line], (_error, stdout) => done(stdout));
      });
      expect(answered).toMatch(/^HTTP\/1.1 201 Created/);
      await until(() => service.output().includes("simulator: would dial +•••••••••23"), 10_000);
      expect(await (await fetch(`${service.root}/healthz`)).text()).toBe("ok\n");
      // The token of this run appears in the ready block, and in no event.
      const [made = ""] = /oc_\w+/.exec(service.output()) ?? [];
      expect(service.output().split(made)).toHaveLength(3);
      await service.end("SIGTERM", "npm");
      await directory.remove();
    });

    it.each([
      ["SIGINT", "group"],
      ["SIGTERM", "group"],
      ["SIGTERM", "npm"],
      ["SIGINT", "npm"],
    ] as const)(
      "is gone with all its children within 5 s of %s to the %s",
      async (signal, whom) => {
        const directory = await makeStateDirectory();
        const service = await startService(platform, {}, directory.path);
        const startedAt = Date.now();
        await service.end(signal, whom);
        expect(Date.now() - startedAt).toBeLessThan(5000);
        await expect(fetch(`${service.root}/healthz`)).rejects.toThrow();
        await directory.remove();
      },
    );

    it.each([
      ["a taken port", { PORT: "taken" }, /^Port \d+ is taken: set PORT to another one\.$/m],
      ["a plan that is no plan", { DIAL_PLAN: '{"agents": {}}' }, /^dial plan: agents: must name/m],
      [
        "a plan without its secret",
        {
          DIAL_PLAN: JSON.stringify({
            agents: { "*": { provider: "webhook", url: "https://example.com/" } },
            callingHours: { default: "always" },
            destinations: { allow: ["*"] },
          }),
        },
        /^The dial plan needs WEBHOOK_SECRET/m,
      ],
      ["tokens that are no tokens", { API_TOKENS: "oc_secret" }, /^API_TOKENS is not JSON$/m],
    ])("ends with one clear line and exit 1 for %s", async (_, environment, line) => {
      const taken = await startReceiver((_request, response) => response.end());
      const directory = await makeStateDirectory();
      const PORT = new URL(taken.url).port;
      const more = "PORT" in environment ? { PORT } : environment;
      const failed = await startService(platform, more, directory.path).then(
        () => "",
        (error: unknown) => String(error),
      );
      expect(failed).toMatch(/^Error: npm start ended with 1:/);
      expect(failed).toMatch(line);
      expect(failed).not.toContain("oc_secret");
      await taken.close();
      await directory.remove();
    });

    it("dials what waited, once, after all of it was killed", async () => {
      const receiver = await startReceiver(answer);
      const directory = await makeStateDirectory();
      const environment = environmentFor(receiver);
      const first = await startService(platform, environment, directory.path);
      await post(first, "/v1/calls/batch", callsTo("waits", 30));
      await until(() => receiver.to("/waits").length === 30, 20_000);
      await until(() => first.output().split('"event":"call.waiting"').length > 30, 5000);
      await first.end("SIGKILL");
      const second = await startService(platform, environment, directory.path);
      await until(() => receiver.to("/waits").length >= 60, 60_000);
      await new Promise((next) => setTimeout(next, 6000));
      const times = new Map<string, number>();
      for (const { id } of receiver.to("/waits")) times.set(id, (times.get(id) ?? 0) + 1);
      expect([...times.values()]).toEqual(Array.from({ length: 30 }, () => 2)); // the 429, and the call
      expect((await platform.rows(second)).map(({ state }) => state)).toEqual(
        Array.from({ length: 30 }, () => "PLACED"),
      );
      await second.end("SIGTERM");
      await receiver.close();
      await directory.remove();
    });
  });
}
