import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApi } from "../support/api.ts";
import { programsIn } from "../support/doc-programs.ts";
import { tokens } from "../support/environment.ts";
import { type Fault, startFaultyServer } from "../support/faulty-server.ts";
import { runPython } from "../support/python-library.ts";
import { startReceiver } from "../support/receiver.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const bounds = { tries: 3, delay: 0.001, try_seconds: 1 };
const token = tokens.crm;

/** Describes docs/examples/outbound_calls.py beside the API over a network that fails. */
export function describePythonLibrary(): void {
  describe("the library in Python", () => {
    let api = createTestApi();
    let coming: Fault[] = [];
    let requests = 0;
    let server: Awaited<ReturnType<typeof startFaultyServer>>;
    beforeAll(async () => {
      server = await startFaultyServer(
        async (request) => api.app.fetch(request),
        () => {
          requests += 1;
          return coming.shift() ?? "none";
        },
      );
    });
    afterAll(() => server.close());

    async function runOne(
      job: Parameters<typeof runPython>[0]["jobs"][number],
      faults: Fault[] = [],
    ) {
      [coming, requests] = [faults, 0];
      const [result = {}] = await runPython({ url: server.url, token, bounds, jobs: [job] });
      return result;
    }
    const acceptedIds = async () => {
      const messages = await Promise.all(api.queue.take().map((one) => one.open()));
      const ids = messages.map((json): { requestId: string } => JSON.parse(json));
      return new Set(ids.map(({ requestId }) => requestId));
    };

    it("has at most 150 lines", async () => {
      const text = await readFile("docs/examples/outbound_calls.py", "utf8");
      expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
    });

    it.each<[Fault[], number, boolean]>([
      [["cut before", "503 before"], 3, false],
      [["cut after"], 2, true],
      [["cut within", "503 after"], 3, true],
      [["hang after"], 2, true],
      [["429 before"], 2, false],
    ])("places a call once through %j", async (faults, tries, replayed) => {
      api = createTestApi();
      const placed = await runOne({ call, options: { campaign: "spring", urgent: true } }, faults);
      const [id] = await acceptedIds();
      expect(placed).toEqual({
        request_id: id,
        call_ids: [`call_${id}_00000`],
        replayed,
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
      });
      expect(requests).toBe(tries);
      expect(await acceptedIds()).toEqual(new Set());
    });

    it("says what may have been accepted, and goes on under the key of its error", async () => {
      api = createTestApi();
      const faults: Fault[] = ["cut after", "503 before", "cut before"];
      const { error } = await runOne({ call }, faults);
      expect(error).toMatchObject({ status: 0, maybe_accepted: true, key: expect.any(String) });
      const again = await runOne({ call, key: Object(error).key });
      expect([...(await acceptedIds())]).toEqual([again["request_id"]]);
      const refused = await runOne({ call: { ...call, agent_id: "nobody" } });
      expect(refused).toMatchObject({ error: { status: 422, maybe_accepted: false } });
      expect(requests).toBe(1);
      expect(await runOne({ call, key: "a,b" })).toEqual({ error: "ValueError" });
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
        const [result] = await runPython({ url: cutting.url, token, bounds, jobs });
        await cutting.close();
        expect(cutting.received).toHaveLength(bounds.tries);
        expect(result).toMatchObject({ error: { key: "a key", maybe_accepted: true } });
      },
    );

    it("asks again for a request's state that was cut off", async () => {
      const state = JSON.stringify({ finished: true });
      const cutting = await startReceiver((_, response, received) => {
        const cut = received.length === 1 ? state.slice(0, 5) : state;
        const headers = { "content-length": state.length, "x-request-id": "0".repeat(26) };
        response.writeHead(200, headers).write(cut, () => response.destroy());
      });
      const jobs = [{ wait: "0".repeat(26) }];
      const [result] = await runPython({ url: cutting.url, token, bounds, jobs });
      await cutting.close();
      expect(result).toEqual({ finished: true });
    });

    it("splits a list as the service takes it, and repeats the same parts", async () => {
      api = createTestApi();
      const calls = Array.from({ length: 10_002 }, () => call);
      calls[10_001] = { ...call, agent_id: "nobody" };
      const { error } = await runOne({ calls, key: "list" });
      expect(error).toMatchObject({
        maybe_accepted: true,
        key: "list",
        errors: [{ pointer: "/10001/agent_id" }],
      });
      calls[10_001] = call;
      const parts = await runOne({ calls, key: "list" });
      const [first, second] = Object.values(parts).map((part) => Object(part));
      expect([first.replayed, second.replayed]).toEqual([true, false]);
      expect([first.call_ids.length, second.call_ids.length]).toEqual([10_000, 2]);
      expect(Object(error).accepted[0].call_ids).toEqual(first.call_ids);
      expect(await acceptedIds()).toEqual(new Set([first.request_id, second.request_id]));
      const large = calls
        .slice(0, 300)
        .map((one) => ({ ...one, context: { note: "x".repeat(30_000) } }));
      const sizes = Object.values(await runOne({ calls: large })).map(
        (part) => Object(part).call_ids.length,
      );
      expect(sizes).toEqual([139, 139, 22]);
    });

    // Under a key that is older than 24 hours, the service would take the calls for others.
    it("sends nothing again after its time, though the machine has slept in between", async () => {
      for (const seconds of [120, 1e9]) {
        [coming, requests] = [["cut after"], 0];
        const program = `
import outbound_calls, types
clock = [0]
sleep = lambda _: clock.__setitem__(0, 30 * 3600)
outbound_calls.time = types.SimpleNamespace(time=lambda: clock[0], sleep=sleep)
try:
    calls = outbound_calls.OutboundCalls("${server.url}", "${token}", seconds=${seconds})
    calls.place_call({"phone_number": "+12025550123", "agent_id": "agent_sales"})
except outbound_calls.OutboundCallsError as error:
    print(error.status, error.maybe_accepted)`;
        const env = { ...process.env, PYTHONPATH: "docs/examples", PYTHONDONTWRITEBYTECODE: "1" };
        const { stdout } = await promisify(execFile)("python3", ["-c", program], { env });
        expect([stdout, requests]).toEqual(["0 True\n", 1]);
      }
    });

    it("carries neither calls nor the token to where an answer redirects it", async () => {
      const elsewhere = await startReceiver((_, response) => response.writeHead(201).end());
      const location = `${elsewhere.url}/v1/calls`;
      const redirecting = await startReceiver((_, response) =>
        response.writeHead(302, { location }).end(),
      );
      const [result] = await runPython({ url: redirecting.url, token, bounds, jobs: [{ call }] });
      expect(result).toMatchObject({ error: { status: 302, maybe_accepted: true } });
      expect([redirecting.received.length, elsewhere.received.length]).toEqual([1, 0]);
      await Promise.all([elsewhere.close(), redirecting.close()]);
    });

    it("is used as docs/client.md shows", async () => {
      api = createTestApi();
      const programs = await programsIn("docs/client.md", "python");
      const env = {
        ...process.env,
        PYTHONPATH: "docs/examples",
        PYTHONDONTWRITEBYTECODE: "1",
        OUTBOUND_CALLS_URL: server.url,
        OUTBOUND_CALLS_TOKEN: token,
      };
      expect(programs).toHaveLength(1);
      const { stdout } = await promisify(execFile)("python3", ["-c", programs.join("")], { env });
      const [id] = await acceptedIds();
      expect(stdout).toBe(`['call_${id}_00000']\n`);
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
      const [verified, ...refused] = await runPython({ url: server.url, token, jobs });
      expect(verified).toEqual({ ...JSON.parse(event), id: "call_x.1" });
      expect(refused).toEqual(refused.map(() => ({ error: "ValueError" })));
      expect(refused).toHaveLength(8);
    });
  });
}
