import { describe, expect, it } from "vitest";
import { tokens } from "#test/support/environment.ts";
import { asBoth, type HttpApiBench, paths, pointersOf, problemOf, valid } from "./setup.ts";

/** Describes the requests that are refused. */
export function describeRequests(api: HttpApiBench): void {
  const { post, nothingQueued } = api;

  describe("refusing requests", () => {
    const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    it.each([
      ["malformed JSON", '{"phone_number": "+12025550123"'],
      ["nothing", ""],
      ["invalid UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
      ["a truncated UTF-8 character", new Uint8Array([0x22, 0xe2, 0x82])],
      ["a string", '"+12025550123"'],
      ["null", "null"],
      ["arrays 5000 deep", deep],
      ["arrays 30,000 deep that never close", "[".repeat(30_000)],
    ])("answers 422 to %s", async (_, body) => {
      for (const path of paths) await problemOf(await post(path, body), 422);
      await nothingQueued();
    });

    it("answers 422 to a context nested 5000 deep", async () => {
      const body = `{"phone_number":"+12025550123","agent_id":"agent_sales","context":{"a":${deep}}}`;
      expect(await pointersOf(await post("/v1/calls", body))).toEqual(["/context/a"]);
    });

    it.each([
      "text/plain",
      "application/json; charset=latin1",
      "application/problem+json",
      "application/jsonp",
    ])("answers 422 to the content type %s", async (type) => {
      for (const [path, body] of asBoth(valid)) {
        const response = await post(path, body, { "content-type": type });
        expect(await pointersOf(response)).toEqual(["Content-Type"]);
      }
      await nothingQueued();
    });

    it("answers 422 to no content type and to any content encoding", async () => {
      for (const [path, body] of asBoth(valid)) {
        const headers = { authorization: `Bearer ${tokens.crm}` };
        const bytes = new TextEncoder().encode(JSON.stringify(body));
        const untyped = await api.request(path, { method: "POST", headers, body: bytes });
        expect(await pointersOf(untyped)).toEqual(["Content-Type"]);
        const encoded = await post(path, body, { "content-encoding": "identity" });
        expect(await pointersOf(encoded)).toEqual(["Content-Encoding"]);
      }
      await nothingQueued();
    });

    it("answers 422 to bodies over the limits", async () => {
      const call = JSON.stringify(valid);
      expect((await post("/v1/calls", call.padEnd(64 * 1024))).status).toBe(201);
      await problemOf(await post("/v1/calls", call.padEnd(64 * 1024 + 1)), 422);
      await problemOf(await post("/v1/calls/batch", `[${call}]`.padEnd(4 * 1024 * 1024 + 1)), 422);
      await api.queued(1);
    });

    it("answers 422 to an empty batch, to 10,001 calls and to one call where a batch belongs", async () => {
      expect(await pointersOf(await post("/v1/calls/batch", []))).toEqual([""]);
      const many = Array.from({ length: 10_001 }, () => valid);
      expect(await pointersOf(await post("/v1/calls/batch", many))).toEqual([""]);
      expect(await pointersOf(await post("/v1/calls/batch", valid))).toEqual([""]);
      expect((await problemOf(await post("/v1/calls", [valid]), 422)).errors).toHaveLength(1);
      await nothingQueued();
    });

    it.each<[string, object, string]>([
      ["no phone_number", { agent_id: "agent_sales" }, "/phone_number"],
      ["a null phone_number", { ...valid, phone_number: null }, "/phone_number"],
      ["an empty phone_number", { ...valid, phone_number: "" }, "/phone_number"],
      ["a number as phone_number", { ...valid, phone_number: 12_025_550_123 }, "/phone_number"],
      ["a national number", { ...valid, phone_number: "2025550123" }, "/phone_number"],
      ["a number with spaces", { ...valid, phone_number: "+1 202 555 0123" }, "/phone_number"],
      ["a number with a line break", { ...valid, phone_number: "+12025550123\n" }, "/phone_number"],
      ["DTMF digits", { ...valid, phone_number: "+12025550123,,1" }, "/phone_number"],
      ["other digits", { ...valid, phone_number: "+١٢٠٢٥٥٥٠١٢٣" }, "/phone_number"],
      ["16 digits", { ...valid, phone_number: "+1202555012345678" }, "/phone_number"],
      [
        "a number that reads as another",
        { ...valid, phone_number: "+5305555555" },
        "/phone_number",
      ],
      ["a premium number", { ...valid, phone_number: "+19005550123" }, "/phone_number"],
      ["a denied prefix of +1", { ...valid, phone_number: "+18765550123" }, "/phone_number"],
      ["another country", { ...valid, phone_number: "+33123456789" }, "/phone_number"],
      ["another country of +1", { ...valid, phone_number: "+17875550123" }, "/phone_number"],
      ["no country", { ...valid, phone_number: "+881612345678" }, "/phone_number"],
      ["no agent_id", { phone_number: "+12025550123" }, "/agent_id"],
      ["an empty agent_id", { ...valid, agent_id: "" }, "/agent_id"],
      ["an unknown agent", { ...valid, agent_id: "agent_x" }, "/agent_id"],
      ["an agent named like a property", { ...valid, agent_id: "constructor" }, "/agent_id"],
      ["an agent named __proto__", { ...valid, agent_id: "__proto__" }, "/agent_id"],
      ["an agent_id with a control character", { ...valid, agent_id: "a\u0007" }, "/agent_id"],
      ["an agent_id of 129", { ...valid, agent_id: "a".repeat(129) }, "/agent_id"],
      ["a null context", { ...valid, context: null }, "/context"],
      ["a context that is an array", { ...valid, context: ["a"] }, "/context"],
      ["a number in the context", { ...valid, context: { a: 1 } }, "/context/a"],
      ["a null in the context", { ...valid, context: { a: null } }, "/context/a"],
      ["a number under an empty key", { ...valid, context: { "": 1 } }, "/context/"],
      ["a number under a key with a slash", { ...valid, context: { "a/b": 1 } }, "/context/a~1b"],
      ["a number under a key with a tilde", { ...valid, context: { "~1": 1 } }, "/context/~01"],
      ["a number under a key of words", { ...valid, context: { "é ü": 1 } }, "/context/é ü"],
      ["a number under a key of digits", { ...valid, context: { "07": 1 } }, "/context/07"],
      ["a list under a key of marks", { ...valid, context: { '"\\#%': [] } }, '/context/"\\#%'],
      [
        "a key as long as a text",
        { ...valid, context: { ["k".repeat(999)]: 1 } },
        `/context/${"k".repeat(999)}`,
      ],
      [
        "an unpaired surrogate in the context",
        { ...valid, context: { a: "\ud800" } },
        "/context/a",
      ],
      ["an unpaired surrogate in a key", { ...valid, context: { "\udc00": "" } }, "/context"],
      ["a key that is a number", { ...valid, context: { "+1202555": 1 } }, "/context/+1202555"],
      ["a key in wide digits", { ...valid, context: { "１２０２５": 1 } }, "/context/１２０２５"],
      [
        "101 entries",
        { ...valid, context: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, ""])) },
        "/context",
      ],
      ["a context over 32 KiB", { ...valid, context: { a: "é".repeat(17_000) } }, "/context"],
      ["a null timezone", { ...valid, timezone: null }, "/timezone"],
      ["an empty timezone", { ...valid, timezone: "" }, "/timezone"],
      ["an unknown timezone", { ...valid, timezone: "Mars/Olympus" }, "/timezone"],
      ["an offset without a colon", { ...valid, timezone: "+0530" }, "/timezone"],
      ["an offset beyond all zones", { ...valid, timezone: "+14:30" }, "/timezone"],
      ["a timezone that is a number", { ...valid, timezone: 5 }, "/timezone"],
      ["a misspelled field", { ...valid, time_zone: "UTC" }, "/time_zone"],
      ["a field with a digit", { ...valid, phone_number2: "x" }, "/phone_number2"],
      ["a field of somebody's number", { ...valid, "+12025550188": "x" }, ""],
    ])("answers 422 to %s", async (_, call, pointer) => {
      for (const [path, body, at] of asBoth(call)) {
        const response = await post(path, body);
        const text = await response.clone().text();
        expect(await pointersOf(response)).toEqual([at + pointer]);
        // No value comes back: the only digits are the message's own example, and those of a key.
        const told = text.replace("such as +12025550123", "").replace(/"\/[^"]*"/, "");
        expect(told).not.toMatch(/\d{7}/);
      }
      await nothingQueued();
    });

    it("refuses the key __proto__ wherever it stands", async () => {
      const call = '{"phone_number":"+12025550123","agent_id":"agent_sales",';
      const inContext = `${call}"context":{"__proto__":"x"}}`;
      expect(await pointersOf(await post("/v1/calls", inContext))).toEqual(["/context"]);
      const asField = `${call}"__proto__":{"timezone":"UTC"}}`;
      expect(await pointersOf(await post("/v1/calls", asField))).toEqual(["/__proto__"]);
      await nothingQueued();
    });

    it("names every wrong call and field of a batch, and queues nothing of it", async () => {
      const calls: object[] = Array.from({ length: 1000 }, () => ({ ...valid }));
      calls[3] = { ...valid, phone_number: "x", agent_id: "" };
      calls[777] = { ...valid, time_zone: "UTC" };
      expect(await pointersOf(await post("/v1/calls/batch", calls))).toEqual([
        "/3/phone_number",
        "/3/agent_id",
        "/777/time_zone",
      ]);
      const allWrong = calls.map(() => ({ ...valid, phone_number: "" }));
      expect(await pointersOf(await post("/v1/calls/batch", allWrong))).toHaveLength(100);
      // The largest bodies with errors throughout get equally short answers.
      const wrongContext = Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`k${n}`, 1]));
      const wrongThroughout = Array.from({ length: 4000 }, () => ({
        ...valid,
        context: wrongContext,
      }));
      expect(await pointersOf(await post("/v1/calls/batch", wrongThroughout))).toHaveLength(100);
      const unknownFields = Object.fromEntries(
        Array.from({ length: 5000 }, (_, n) => [`f${n}`, 1]),
      );
      expect(
        await pointersOf(await post("/v1/calls", { ...valid, ...unknownFields })),
      ).toHaveLength(100);
      const allDenied = calls.map(() => ({ ...valid, phone_number: "+19005550123" }));
      expect(await pointersOf(await post("/v1/calls/batch", allDenied))).toHaveLength(100);
      await nothingQueued();
    });
  });
}
