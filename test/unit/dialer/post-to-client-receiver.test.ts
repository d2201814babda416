import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { createPostToClientReceiver } from "#functions/dialer/runtime/post-to-client-receiver.ts";
import { createSendByNode } from "#shared/aws/node-client.ts";
import { createPublicLookup, type Resolve } from "#shared/aws/public-lookup.ts";
import { clientReceiverSecret } from "#shared/dial-plan/client-receiver-secrets.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { certificate } from "#test/support/certificate.ts";
import {
  blockedIpv4,
  blockedIpv6,
  embeddingsOfIpv4,
  spellingsOfIpv4,
} from "#test/support/spelled-addresses.ts";

const eventsKey = "c".repeat(64);
const event = { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000.1", body: '{"type":"call.placed"}' };
const of = { client: "crm", name: "main", secretGeneration: 1 };

/** Posts to a URL that is stored already, as the platform's `send` does. */
function post(url: string, send: Send, more: Record<string, string> = {}) {
  const environment = { EVENTS_KEY: eventsKey, ...more };
  return createPostToClientReceiver({ environment, fetch: send, now: Date.now })(
    { ...of, url },
    event,
  );
}

/** Starts a server inside, of TLS, that must not be reached, and counts its connections. */
async function startInside() {
  const server = createServer(certificate, (_request, response) => response.end("a secret"));
  let connections = 0;
  server.on("connection", () => connections++);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.close();
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  const { port } = server.address() as AddressInfo;
  return { port, connections: () => connections };
}

/** Resolves every name to these addresses, one after the other. */
function resolvesTo(...answers: string[][]): Resolve & { asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, done) => {
    const some = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    const addresses = some.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    setImmediate(() => done(null, addresses));
  };
  return Object.assign(resolve, { asked });
}

describe("posting an event to a client's own receiver", () => {
  it("signs with its derived secret, in a local run also to this machine", async () => {
    const receiver = await startTestReceiver((_request, response) => response.writeHead(204).end());
    const local = { LOOPBACK_RECEIVERS: "true" };
    expect(await post(receiver.url, createSendByNode(), local)).toMatchObject({ status: 204 });
    const [one] = receiver.received;
    const headers = Object.entries(one?.headers ?? {}).map(([name, value]) => [
      name,
      String(value),
    ]);
    const secret = clientReceiverSecret(of, eventsKey);
    expect(new Webhook(secret).verify(one?.text ?? "", Object.fromEntries(headers))).toBeTruthy();
  });

  it("reaches nothing on this machine unless it is a local run", async () => {
    const receiver = await startTestReceiver((_request, response) => response.end());
    for (const value of [{}, { LOOPBACK_RECEIVERS: "" }, { LOOPBACK_RECEIVERS: "1" }]) {
      const answer = await post(receiver.url, createSendByNode(), value);
      expect(answer).toEqual({ error: "address_not_public" });
    }
    expect(receiver.received).toEqual([]);
  });

  it("follows no redirect to a private address", async () => {
    const inside = await startTestReceiver((_request, response) => response.end("a secret"));
    const receiver = await startTestReceiver((_request, response) =>
      response.writeHead(307, { location: `${inside.url}/latest/meta-data` }).end(),
    );
    for (const send of [createSendByNode(), fetch]) {
      const answer = await post(receiver.url, send, { LOOPBACK_RECEIVERS: "true" });
      expect(answer).toMatchObject({ status: 307 });
    }
    expect([receiver.received.length, inside.received.length]).toEqual([2, 0]);
  });

  it("sends nothing to a private address, however it is spelled, on either platform", async () => {
    const sent: string[] = [];
    const send: Send = async (url) => {
      sent.push(url);
      return new Response();
    };
    const hosts = fc.oneof(
      blockedIpv4.chain(spellingsOfIpv4),
      blockedIpv4.chain(embeddingsOfIpv4),
      blockedIpv6.map((address) => `[${address}]`),
    );
    const isRefused = async (host: string) =>
      "error" in (await post(`https://${host}/`, send, { LOOPBACK_RECEIVERS: "true" }));
    await fc.assert(fc.asyncProperty(hosts, isRefused));
    expect(sent).toEqual([]);
  });

  it("says by every request that a client chose its URL, so that Node's client judges the address", async () => {
    const said: unknown[] = [];
    const send: Send = async (_url, { isPublicOnly, redirect }) => {
      said.push(isPublicOnly, redirect);
      return new Response();
    };
    expect(await post("https://hooks.example.com/", send)).toMatchObject({ status: 200 });
    expect(said).toEqual([true, "manual"]);
  });
});

describe("Node's client, for a URL that a client chose", () => {
  const request = () => ({
    method: "POST",
    headers: {},
    body: "{}",
    redirect: "manual" as const,
    signal: AbortSignal.timeout(120_000),
  });
  const reasonOf = async (sending: Promise<Response>) => {
    const error = await sending.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const cause = error instanceof Error ? error.cause : undefined;
    return cause instanceof Error && "code" in cause ? cause.code : undefined;
  };

  it("does not connect to a name that resolves to a private address at the time of the connection", async () => {
    const inside = await startInside();
    const url = `https://rebinding.example.com:${inside.port}/`;
    // Public when it was checked, private when it is used.
    const resolve = resolvesTo(["93.184.216.34"], ["127.0.0.1"]);
    await new Promise<void>((checked) =>
      resolve("rebinding.example.com", { all: true }, (_error, [first] = []) => {
        expect(first?.address).toBe("93.184.216.34");
        checked();
      }),
    );
    const send = createSendByNode(resolve);
    expect(await reasonOf(send(url, { ...request(), isPublicOnly: true }))).toBe(
      "ADDRESS_NOT_PUBLIC",
    );
    expect(resolve.asked.length).toBe(2); // the connection has asked by itself
    expect(inside.connections()).toBe(0);
  });

  it.each([
    [["127.0.0.1"]],
    [["93.184.216.34", "127.0.0.1"]],
    [["::1"]],
    [["::ffff:127.0.0.1"]],
    [["64:ff9b::7f00:1"]],
    [["169.254.169.254"]],
    [["10.0.0.1", "2606:4700::1111"]],
    [[]],
  ])("does not connect to a name with the addresses %j", async (addresses) => {
    const inside = await startInside();
    const send = createSendByNode(resolvesTo(addresses));
    const url = `https://hooks.example.com:${inside.port}/`;
    expect(await reasonOf(send(url, { ...request(), isPublicOnly: true }))).toBe(
      "ADDRESS_NOT_PUBLIC",
    );
    expect(inside.connections()).toBe(0);
  });

  it("does not connect to an address itself that is not public, nor without TLS", async () => {
    const inside = await startInside();
    const send = createSendByNode();
    const { port } = inside;
    for (const url of [
      `https://127.0.0.1:${port}/`,
      `https://2130706433:${port}/`,
      `https://[::ffff:7f00:1]:${port}/`,
      `https://0x7f.1:${port}/`,
      `http://127.0.0.1:${port}/`,
      `http://example.com/`,
    ]) {
      expect(await reasonOf(send(url, { ...request(), isPublicOnly: true }))).toBe(
        "ADDRESS_NOT_PUBLIC",
      );
    }
    expect(
      await reasonOf(send(`https://localhost:${port}/`, { ...request(), isPublicOnly: true })),
    ).toMatch(/ADDRESS_NOT_PUBLIC|ENOTFOUND/);
    expect(inside.connections()).toBe(0);
    // The same server is reached by a URL of the dial plan, so that the test can fail.
    expect(await reasonOf(send(`https://localhost:${port}/`, request()))).toMatch(/CERT/);
    expect(inside.connections()).toBe(1);
  });

  it("gets the addresses of its lookup that were judged, in either form", async () => {
    const resolve = resolvesTo(["192.0.2.1"], ["93.184.216.34"]);
    const connected: unknown[] = [];
    const lookup = createPublicLookup(resolve);
    const ask = (all: boolean) =>
      new Promise<void>((asked) =>
        lookup("hooks.example.com", { all }, (error, ...found) => {
          connected.push(error === null ? found : (error.code ?? error));
          asked();
        }),
      );
    await ask(true);
    await ask(true);
    await ask(false);
    expect(connected).toEqual([
      "ADDRESS_NOT_PUBLIC",
      [[{ address: "93.184.216.34", family: 4 }]],
      ["93.184.216.34", 4],
    ]);
  });

  it("distinguishes a name without an address from a name with a private address", async () => {
    const resolve: Resolve = (_hostname, _options, done) =>
      done(Object.assign(new Error("none"), { code: "ENOTFOUND" }));
    const sending = createSendByNode(resolve)("https://gone.example.com/", {
      ...request(),
      isPublicOnly: true,
    });
    expect(await reasonOf(sending)).toBe("ENOTFOUND");
  });

  // An error that is thrown here would end the process, with all that it dials.
  it("continues after a name that cannot be resolved", async () => {
    const error = await new Promise((asked) =>
      createPublicLookup()(`${"x".repeat(300)}.invalid`, { all: true }, asked),
    );
    expect(error).toMatchObject({ code: "ENOTFOUND" });
  });
});
