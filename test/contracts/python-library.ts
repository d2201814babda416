import { execFile } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { eventExamples } from "#infra/generate/examples.ts";
import { createTestApi } from "../support/api.ts";
import { tokens } from "../support/environment.ts";
import {
  type Fault,
  faults as networkFaults,
  startFaultyServer,
} from "../support/faulty-server.ts";
import { aStory, expectTold } from "../support/key-stories.ts";
import { pythonEnvironment, runPython } from "../support/python-library.ts";
import { startReceiver } from "../support/receiver.ts";
import { freePort } from "../support/service.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
/** A try that a busy machine answers late is in time. */
const bounds = { tries: 3, delay: 0.001, try_timeout: 60 };
/** For answers that never come. */
const hastyBounds = { ...bounds, try_timeout: 3 };
const token = tokens.crm;

/** Describes a client of the Python package, the blocking one or that of asyncio, beside the API over a network that fails. */
export function describePythonLibrary(client: "sync" | "async"): void {
  describe(`the ${client} client in Python`, () => {
    let api = createTestApi();
    let coming: Fault[] = [];
    let requests = 0;
    let server: Awaited<ReturnType<typeof startFaultyServer>>;
    beforeAll(async () => {
      server = await startFaultyServer(
        async (request) => api.app.fetch(request),
        (headers) => {
          requests += 1;
          const told = [...networkFaults, "401 before" as const].find(
            (fault) => fault === headers["x-fault"],
          );
          return told ?? coming.shift() ?? "none";
        },
      );
    });
    afterAll(() => server.close());

    async function runOne(
      job: Parameters<typeof runPython>[0]["jobs"][number],
      faults: Fault[] = [],
    ) {
      [coming, requests] = [faults, 0];
      const [result = {}] = await runPython({
        url: server.url,
        token,
        client,
        bounds: faults.includes("hang after") ? hastyBounds : bounds,
        jobs: [job],
      });
      return result;
    }
    const partsOf = ({ requests: all }: Record<string, unknown>) =>
      Object.values(Object(all)).map(Object);
    const acceptedIds = async () => {
      const messages = await Promise.all(api.queue.take().map((one) => one.open()));
      const ids = messages.map((json): { requestId: string } => JSON.parse(json));
      return new Set(ids.map(({ requestId }) => requestId));
    };

    it.each<[Fault[], number, boolean]>([
      [["cut before", "503 before"], 3, false],
      [["cut after"], 2, true],
      [["cut within", "503 after"], 3, true],
      [["hang after"], 2, true],
      [["429 before"], 2, false],
    ])("places a call once through %j", async (faults, tries, replayed) => {
      api = createTestApi();
      const placed = await runOne(
        { call, options: { campaign: "Frühling", urgent: true } },
        faults,
      );
      const [id] = await acceptedIds();
      expect(placed).toEqual({
        request_id: id,
        call_ids: [`call_${id}_00000`],
        replayed,
        idempotency_key: expect.stringMatching(/^[0-9a-f]{32}$/),
      });
      expect(requests).toBe(tries);
      expect(await acceptedIds()).toEqual(new Set());
    });

    it("names a campaign by RFC 8187 where its name is beyond ASCII, and the service reads the same name", async () => {
      api = createTestApi();
      const names = [
        "spring, part 2",
        "Frühling 2026",
        "日本",
        "\u{1f4de}".repeat(64),
        "UTF-8'x",
        "utf-8''spring",
        "50 % off (it's *new*) é",
      ];
      const jobs = names.map((campaign) => ({ call, options: { campaign } }));
      coming = [];
      await runPython({ url: server.url, token, client, bounds, jobs });
      const messages = await Promise.all(api.queue.take().map((one) => one.open()));
      const read = messages.map((json): { labels: { campaign: string } } => JSON.parse(json));
      expect(read.map(({ labels }) => labels.campaign).toSorted()).toEqual(names.toSorted());
    });

    it("sends a context in any script that the service takes, and has half a character refused", async () => {
      api = createTestApi();
      const contextOf = (note: string) => ({ call: { ...call, context: { note } } });
      expect(await runOne(contextOf("\u044f".repeat(16_000)))).toHaveProperty("request_id");
      expect(await runOne(contextOf("\ud800"))).toMatchObject({
        error: { status: 422, errors: [{ pointer: expect.stringMatching(/^\/context/) }] },
      });
    });

    it("says what may have been accepted, and continues under the key of its error", async () => {
      api = createTestApi();
      const faults: Fault[] = ["cut after", "503 before", "cut before"];
      const { error } = await runOne({ call }, faults);
      expect(error).toMatchObject({ type: "unavailable", status: null, maybe_accepted: true });
      const again = await runOne({ call, key: Object(error).idempotency_key });
      expect([...(await acceptedIds())]).toEqual([again["request_id"]]);
      const refused = await runOne({ call: { ...call, agent_id: "nobody" } });
      expect(refused).toMatchObject({ error: { status: 422, maybe_accepted: false } });
      expect(requests).toBe(1);
      const malformed = await runOne({ call, key: "a,b" });
      expect(malformed).toMatchObject({
        error: "ValueError",
        message: expect.stringMatching(/^idempotency_key must be/),
      });
    });

    it("reports what may have been accepted as the OR over all tries under a key", async () => {
      api = createTestApi();
      const stories = fc.sample(aStory, { numRuns: 40, seed: 7 });
      const jobs = stories.map(({ isBatch, requests: faults }, index) => ({
        ...(isBatch ? { calls: [call] } : { call }),
        key: `story-${index}`,
        story: faults,
      }));
      const dead_port = await freePort();
      const task = { url: server.url, token, client, bounds: hastyBounds, jobs, dead_port };
      type Told = { type: string; maybe_accepted: boolean };
      const told = await runPython<{ seen: string[]; error: Told | null }[]>(task);
      expect(told).toHaveLength(stories.length);
      for (const story of told) {
        expectTold(
          story.map(({ seen, error }) => ({
            seen,
            error: error ? { ...error, isMaybeAccepted: error.maybe_accepted } : undefined,
          })),
        );
      }
      const kinds = new Set(told.flat().map(({ error }) => error?.type));
      expect(kinds).toEqual(new Set([undefined, "unavailable", "not_sent", "refused"]));
    });

    // Whoever loses the key repeats the call under another one.
    it.each(["", '{"detail":', "[1]", "<html>"])(
      "keeps the key where a problem is %j",
      async (text) => {
        const cutting = await startReceiver((_, response) => {
          response.writeHead(503, {
            "content-type": "application/problem+json",
            "content-length": 99,
          });
          response.write(text, () => response.destroy());
        });
        const jobs = [{ call, key: "a key" }];
        const [result] = await runPython({ url: cutting.url, token, client, bounds, jobs });
        await cutting.close();
        expect(cutting.received).toHaveLength(bounds.tries);
        expect(result).toMatchObject({
          error: { idempotency_key: "a key", maybe_accepted: true },
        });
      },
    );

    it("asks again for a request's state that was cut off", async () => {
      const id = "0".repeat(26);
      const known = { id, accepted_at: "2026-11-21T09:00:00Z", total: 0, calls: [] };
      const state = JSON.stringify({ ...known, finished: true });
      const cutting = await startReceiver((_, response, received) => {
        const cut = received.length === 1 ? state.slice(0, 5) : state;
        const headers = { "content-length": state.length, "x-request-id": id };
        response.writeHead(200, headers).write(cut, () => response.destroy());
      });
      const jobs = [{ wait: id }];
      const [result] = await runPython({ url: cutting.url, token, client, bounds, jobs });
      await cutting.close();
      expect(result).toMatchObject({ ...known, finished: true });
      expect(cutting.received).toHaveLength(2);
    });

    it("splits a list as the service takes it, and repeats the same parts", async () => {
      api = createTestApi();
      const calls = Array.from({ length: 10_002 }, () => call);
      calls[10_001] = { ...call, agent_id: "nobody" };
      const { error } = await runOne({ calls, key: "list" });
      expect(error).toMatchObject({
        maybe_accepted: true,
        idempotency_key: "list",
        errors: [{ pointer: "/10001/agent_id" }],
      });
      calls[10_001] = call;
      const parts = await runOne({ calls, key: "list" });
      const [first, second] = partsOf(parts);
      expect([first.replayed, second.replayed]).toEqual([true, false]);
      expect([first.call_ids.length, second.call_ids.length]).toEqual([10_000, 2]);
      expect(Object(error).accepted[0].call_ids).toEqual(first.call_ids);
      expect(await acceptedIds()).toEqual(new Set([first.request_id, second.request_id]));
      const large = calls
        .slice(0, 300)
        .map((one) => ({ ...one, context: { note: "x".repeat(30_000) } }));
      const sizes = partsOf(await runOne({ calls: large })).map((part) => part.call_ids.length);
      expect(sizes).toEqual([139, 139, 22]);
    });

    // Under a key that is older than 24 hours, the service would take the calls for others.
    it("repeats nothing after its time limit or the key's 24 hours, though the machine slept in between", async () => {
      for (const timeout of [120, 1e9]) {
        [coming, requests] = [["cut after"], 0];
        const program = `
import asyncio, types, outbound_calls
clock = [1e9]
def sleep(_): clock[0] += 30 * 3600
async def sleep_async(_): sleep(_)
outbound_calls._sending.time = outbound_calls._keys.time = types.SimpleNamespace(time=lambda: clock[0])
outbound_calls._client.time = types.SimpleNamespace(sleep=sleep)
call = {"phone_number": "+12025550123", "agent_id": "agent_sales"}
given = dict(base_url="${server.url}", token="${token}", timeout=${timeout})
try:
    if "${client}" == "sync":
        outbound_calls.OutboundCalls(**given).place_call(call)
    else:
        calls = outbound_calls.AsyncOutboundCalls(**given)
        outbound_calls._async_client.asyncio = types.SimpleNamespace(sleep=sleep_async)
        asyncio.run(calls.place_call(call))
except outbound_calls.OutboundCallsError as error:
    print(error.status, error.maybe_accepted)`;
        const { stdout } = await promisify(execFile)("python3", ["-c", program], {
          env: pythonEnvironment(),
        });
        expect([stdout, requests]).toEqual(["None True\n", 1]);
      }
    });

    it("stops within its time limit, however slowly an answer comes, and its last error is the cause", async () => {
      const dripping = await startReceiver((_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(" "), 50);
        response.on("close", () => clearInterval(timer));
      });
      const id = "0".repeat(26);
      // A try of its own would take as long as the bytes come, which is for good.
      const patient = { ...bounds, try_timeout: 1e6, timeout: 1e6 };
      const jobs = [
        { wait: id, options: { timeout: 0.3 } },
        { call, options: { timeout: 0.3 } },
        { method: "list_requests", options: { timeout: 0.3 } },
        { method: "get_usage", options: { timeout: 0.3 } },
      ];
      const task = { url: dripping.url, token, client, bounds: patient, jobs };
      const [waited, ...others] = await runPython(task);
      await dripping.close();
      expect(waited).toMatchObject({
        error: { type: "timed_out", request_id: id, cause: "OutboundCallsError" },
      });
      expect(others.map(({ error }) => Object(error).type)).toEqual(
        others.map(() => "unavailable"),
      );
      expect(others[0]).toMatchObject({ error: { maybe_accepted: true, cause: "TimeoutError" } });
    });

    it("refuses a wrong argument by its name before anything is sent", async () => {
      const id = "0".repeat(26);
      const jobs = [
        { call, options: { not_before: "2026-11-21 09:00" } },
        { call, options: { not_before: 1_795_251_600 } },
        { call, options: { urgent: "yes" } },
        { call, options: { campaign: "a\u202eb" } },
        { call, options: { timeout: "5" } },
        { calls: [call], options: { idempotency_key: "a,b" } },
        { wait: "req_1" },
        { wait: `${id}/cancel` },
        { method: "cancel_request", args: [id], options: { indexes: [-1] } },
        { method: "get_call", args: ["../me"] },
        { method: "put_receiver", args: ["a/b", "https://example.com"] },
        { call, options: { not_befor: "2026-11-21T09:00:00Z" } },
        { method: "place_calls", args: ["+12025550123"] },
      ];
      requests = 0;
      const found = await runPython({ url: server.url, token, client, bounds, jobs });
      const ofPlacing = ["not_before", "not_before", "urgent", "campaign", "timeout"];
      const ofOthers = [
        "idempotency_key",
        "request_id",
        "request_id",
        "indexes",
        "call_id",
        "name",
      ];
      const names = [...ofPlacing, ...ofOthers];
      for (const [index, name] of names.entries()) {
        expect(found[index]).toMatchObject({ error: "ValueError" });
        expect(String(found[index]?.["message"])).toMatch(new RegExp(`^${name} must`));
      }
      expect(found[11]).toMatchObject({
        error: "TypeError",
        message: expect.stringContaining("'not_befor'"),
      });
      expect(found[12]).toMatchObject({ error: "TypeError" });
      expect(requests).toBe(0);
    });

    it("begins a file of leads once, and notes its parts, through lost answers", async () => {
      api = createTestApi();
      const [file = "", digest = "", content = ""] = ["file", "part", "body"].map((text) =>
        createHash("sha256").update(text).digest("hex"),
      );
      const parts = [{ digest, calls: 2 }];
      const lost: Fault[] = ["cut after"];
      const ask = (method: string, options = {}) =>
        runOne({ method, args: [file], options }, [...lost]);
      expect(await ask("find_sent_file")).toBeNull();
      const begun = await ask("start_sent_file", { campaign: "spring", parts });
      expect(begun).toMatchObject({ round: 1, is_finished: false, parts: [{ state: "planned" }] });
      const step = { round: 1, index: 0 };
      const next = { ...step, state: "begun", content, attempt: "monday-1" };
      expect(await ask("mark_sent_part", next)).toMatchObject({ state: "begun" });
      expect(await ask("mark_sent_part", { ...step, state: "sent" })).toMatchObject({
        state: "sent",
      });
      expect(requests).toBe(2);
      expect(await ask("find_sent_file")).toMatchObject({ is_finished: true });
      const again = await ask("start_sent_file", { campaign: "spring", parts });
      expect(again).toMatchObject({ error: { type: "refused", status: 409 } });
    });

    it("reads what the service answers of requests, usage, receivers and the token", async () => {
      api = createTestApi();
      const placed = await runOne({ call, key: "appointment-1" });
      const as = async (of: string, job: Parameters<typeof runOne>[0]) => {
        const [found] = await runPython<unknown>({
          url: server.url,
          token: of,
          client,
          bounds,
          jobs: [job],
        });
        return found;
      };
      const { crmReader, crmDesk, crmEvents, crmOptOut } = tokens;
      const id = placed["request_id"];
      expect(
        await as(crmReader, { method: "find_request", args: ["appointment-1"] }),
      ).toMatchObject({
        id,
        known: false,
      });
      const list = await runOne({ calls: [call, call], key: "list-1" });
      expect(await as(crmReader, { method: "find_request", args: ["list-1"] })).toMatchObject({
        id: partsOf(list)[0].request_id,
      });
      expect(await as(crmReader, { method: "find_request", args: ["none"] })).toBeNull();
      expect(await as(crmReader, { method: "list_requests" })).toEqual([]);
      expect(await as(crmReader, { method: "get_usage" })).toMatchObject({
        total: { accepted: 0, cost: [] },
      });
      expect(await as(crmReader, { method: "get_token" })).toMatchObject({ client: "crm" });
      expect(await as(crmDesk, { method: "cancel_request", args: [id] })).toEqual({
        cancelled: 0,
        ordered: 1,
      });
      expect(await as(crmOptOut, { method: "add_opt_outs", args: [["+12025550199"]] })).toBe(1);
      const put = { method: "put_receiver", args: ["main", "https://example.com/events"] };
      expect(await as(crmEvents, put)).toMatchObject({
        requests_per_second: 20,
        secret: expect.stringMatching(/^whsec_/),
      });
      expect(await as(crmEvents, { method: "list_receivers" })).toMatchObject([{ name: "main" }]);
      expect(await as(crmEvents, { method: "rotate_secret", args: ["main"] })).toMatchObject({
        secret: expect.stringMatching(/^whsec_/),
      });
      expect(await as(crmEvents, { method: "test_receiver", args: ["main"] })).toMatch(/^test_/);
      expect(await as(crmEvents, { method: "list_deliveries", args: ["main"] })).toEqual([]);
      const times = { start: "2026-11-21T09:00:00Z", until: "2026-11-21T10:00:00Z" };
      const replay = { method: "replay_receiver", args: ["main"], options: times };
      expect(await as(crmEvents, replay)).toBeNull();
      coming = ["cut after"]; // the try without an answer has removed the receiver
      expect(await as(crmEvents, { method: "delete_receiver", args: ["main"] })).toBeNull();
    });

    it("carries neither calls nor the token to where an answer redirects it", async () => {
      const elsewhere = await startReceiver((_, response) => response.writeHead(201).end());
      const location = `${elsewhere.url}/v1/calls`;
      const redirecting = await startReceiver((_, response) =>
        response.writeHead(302, { location }).end(),
      );
      const [result] = await runPython({
        url: redirecting.url,
        token,
        client,
        bounds,
        jobs: [{ call }],
      });
      expect(result).toMatchObject({
        error: { type: "unexpected", status: 302, maybe_accepted: true },
      });
      expect([redirecting.received.length, elsewhere.received.length]).toEqual([1, 0]);
      await Promise.all([elsewhere.close(), redirecting.close()]);
    });

    it("verifies events", async () => {
      const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
      const event = JSON.stringify({ type: "call.ended", data: { id: "call_ä" } });
      const signed = (at = Date.now(), by = secret) => ({
        "Webhook-Id": "call_x.1",
        "webhook-timestamp": String(Math.floor(at / 1000)),
        "webhook-signature": `v1,eA== ${new Webhook(by).sign("call_x.1", new Date(at), event)}`,
      });
      const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
      const signedByAnybody = () => {
        const headers = signed();
        const text = `call_x.1.${headers["webhook-timestamp"]}.${event}`;
        const mac = createHmac("sha256", "").update(text).digest("base64");
        return { ...headers, "webhook-signature": `v1,${mac}` };
      };
      const jobs = [
        { event, secret, headers: signed() },
        { event: event.replace("ended", "placed"), secret, headers: signed() },
        { event, secret, headers: signed(Date.now(), other) },
        { event, secret, headers: signed(Date.now() - 600_000) },
        { event, secret, headers: signed(Date.now() + 600_000) },
        { event, secret, headers: {} },
        // A secret that was forgotten or is malformed: anybody has its bytes.
        ...["", "whsec_", "whsec_!!!!"].map((none) => ({
          event,
          secret: none,
          headers: signedByAnybody(),
        })),
      ];
      const [verified, ...refused] = await runPython({ url: server.url, token, client, jobs });
      // It lacks the fields of an end, and is authentic all the same.
      const known = { type: "unknown", sent_type: "call.ended", id: "call_x.1" };
      expect(verified).toMatchObject({ ...known, data: { id: "call_ä" } });
      for (const one of refused) expect(one).toMatchObject({ error: "ValueError" });
      expect(refused).toHaveLength(8);
    });

    it("reads each event by its type, by either secret of a rotation", async () => {
      const secret = [9, 8].map((byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`);
      const signedBy = (event: string, by = "") => ({
        "webhook-id": "x.1",
        "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
        "webhook-signature": new Webhook(by).sign("x.1", new Date(), event),
      });
      const bodies = [
        ...Object.values(eventExamples),
        { type: "receiver.test", timestamp: "t", data: { receiver: "main" } },
        { type: "call.teleported", timestamp: "t", data: { id: "x" } },
      ];
      const jobs = bodies.map((body, index) => {
        const event = JSON.stringify(body);
        return { event, secret, headers: signedBy(event, secret[index % 2]) };
      });
      const found = await runPython({ url: server.url, token, client, jobs });
      const known = bodies.slice(0, -1).map(({ type }) => type);
      expect(found.map(({ type }) => type)).toEqual([...known, "unknown"]);
      expect(found.at(-1)).toMatchObject({ sent_type: "call.teleported", data: { id: "x" } });
      for (const [index, { data }] of bodies.entries())
        expect(found[index]?.["data"]).toMatchObject(data);
    });
  });
}
