import { request } from "node:http";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { until } from "#test/support/service.ts";
import { token } from "#test/support/open-service.ts";
import { callsTo, post, type ServiceBench } from "./setup.ts";

/** The contract over real connections, and requests that no client library would send. */
export function itKeepsTheContract(bench: ServiceBench): void {
  it("answers over a real connection as the contract says", async () => {
    const valid = callsTo("x", 1)[0];
    const bearer = { authorization: `Bearer ${token}` };
    const json = { "content-type": "application/json" };
    for (const path of ["/v1/calls", "/v1/calls/batch"]) {
      const answers = {
        "no token": await fetch(bench.service.address + path, {
          method: "POST",
          headers: json,
          body: "{}",
        }),
        "wrong token": await post(bench.service, path, valid, { authorization: "Bearer oc_wrong" }),
        "wrong scheme": await post(bench.service, path, valid, { authorization: `Basic ${token}` }),
        "malformed JSON": await post(bench.service, path, "{"),
        "wrong content type": await post(bench.service, path, valid, {
          "content-type": "text/plain",
        }),
        "invalid UTF-8": await fetch(bench.service.address + path, {
          method: "POST",
          headers: { ...bearer, ...json },
          body: new Uint8Array([0x22, 0xff, 0x22]),
        }),
        "empty batch": await post(bench.service, path, []),
        // A body too large for one call is refused before it is read, which may end its connection: see below.
        "too many": await post(
          bench.service,
          path,
          callsTo("x", path === "/v1/calls" ? 2 : 10_001),
        ),
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
        const socket = connect(bench.service.port, "127.0.0.1").on("error", failed);
        let text = "";
        socket.on("data", (chunk: Buffer) => {
          text += chunk.toString();
          if (text.includes("\r\n\r\n")) socket.end(() => answered(text.slice(9, 12)));
        });
        socket.write(
          `POST ${bench.platform.prefix}/v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        for (const piece of pieces) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
        socket.write("0\r\n\r\n");
      });
    const [call = ""] = callsTo("pieces", 1).map((one) => JSON.stringify(one));
    expect(await send([call.slice(0, 20), call.slice(20)])).toBe("201");
    expect(await send([call, " ".repeat(64 * 1024)])).toBe("422");
  });

  it("refuses a header that is sent twice where one decides, and has no body in a 201 of any coding", async () => {
    const [body = ""] = callsTo("twice", 1).map((one) => JSON.stringify(one));
    const send = (headers: Record<string, string | string[]>) =>
      new Promise<[status: number | undefined, bytes: number]>((answered, failed) => {
        const to = `http://127.0.0.1:${bench.service.port}${bench.platform.prefix}/v1/calls`;
        const json = { "content-type": "application/json", authorization: `Bearer ${token}` };
        request(to, { method: "POST", headers: { ...json, ...headers } }, (response) => {
          let bytes = 0;
          response.on("data", (chunk: Buffer) => (bytes += chunk.length));
          response.on("end", () => answered([response.statusCode, bytes])).on("error", failed);
        })
          .on("error", failed)
          .end(body);
      });
    const twice = (value: string, other = value) => [value, other];
    const bearer = `Bearer ${token}`;
    expect((await send({ authorization: twice(bearer) }))[0]).toBe(401);
    expect((await send({ authorization: twice(bearer, "Bearer oc_wrong") }))[0]).toBe(401);
    expect((await send({ "idempotency-key": twice("twice") }))[0]).toBe(422);
    expect((await send({ "idempotency-key": twice("twice", "other") }))[0]).toBe(422);
    for (const coding of [
      "gzip",
      "br",
      "gzip, deflate, br, zstd",
      "*",
      "identity",
      "identity;q=0",
    ]) {
      expect([coding, await send({ "accept-encoding": coding })]).toEqual([coding, [201, 0]]);
    }
  });

  it("refuses a request whose length is given in two ways or in none", async () => {
    const statusOf = (text: string, idleMsMax = 2_000) =>
      new Promise<string>((answered) => {
        const socket = connect(bench.service.port, "127.0.0.1");
        let got = "";
        const end = () => {
          socket.destroy();
          answered(got.slice(9, 12));
        };
        socket.on("data", (chunk: Buffer) => {
          got += chunk.toString();
          if (got.includes("\r\n\r\n")) end();
        });
        socket.on("error", end).on("close", end).setTimeout(idleMsMax, end);
        socket.write(text);
      });
    const [body = ""] = callsTo("framing", 1).map((one) => JSON.stringify(one));
    const head =
      `POST ${bench.platform.prefix}/v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
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
      const refused = expect.toBeOneOf(["400", "422", "500", ""]);
      expect([name, await statusOf(text)]).toEqual([name, refused]);
    }
    // A request with both headers may be read by its transfer coding alone (RFC 9112, 6.3): as one call, or
    // as none.
    const twoHeaders = framed("Content-Length: 4\r\nTransfer-Encoding: chunked", chunked);
    const both = await statusOf(twoHeaders, 120_000); // either is answered
    expect(both).toBeOneOf(["400", "201"]);
    await post(bench.service, "/v1/calls", callsTo("framing_ends", 1)[0]);
    const receivedOf = (agent: string) =>
      bench.receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`));
    await until(() => receivedOf("framing_ends").length === 1);
    await until(() => receivedOf("framing").length === (both === "201" ? 1 : 0));
  });
}
