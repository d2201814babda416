import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi, onTestFinished } from "vitest";
import { sendByNode } from "#shared/aws/node-client.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { post } from "#shared/providers/provider-http.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { certificate } from "#test/support/certificate.ts";

/** Guards against what never comes. */
const guard = { timeout: 120_000 };

const nodeSend = join(import.meta.dirname, "../../../shared/aws/node-client.ts");
afterEach(() => void vi.useRealTimers());

const request = (timeoutMs = 5000) => ({
  method: "POST",
  headers: { "content-type": "application/json", "x-own": "1" },
  body: '{"a":"ü"}',
  redirect: "manual" as const,
  signal: AbortSignal.timeout(timeoutMs),
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  return (server.address() as AddressInfo).port;
}

/** A TCP server that says this to whoever has sent something, and counts connections. */
async function startRaw(say: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined).once("data", () => say(socket));
  });
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  return { port: await portOf(server), sockets };
}

type Answering = Parameters<typeof startTestReceiver>[0];

/** Returns the environment of a process that trusts `certificate`. */
async function trustingEnvironment() {
  const folder = await mkdtemp(join(tmpdir(), "node-send-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "ca.pem"), certificate.cert);
  return { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, "ca.pem") };
}

describe("sending by Node's client", () => {
  it.each<[string, Answering]>([
    [
      "an answer of JSON",
      (_, response) => response.writeHead(201, { "x-b": "ü" }).end('{"id":"x"}'),
    ],
    ["no content", (_, response) => response.writeHead(204).end()],
    ["a redirect", (_, response) => response.writeHead(302, { location: "/else" }).end("gone")],
    ["headers that repeat", (_, response) => response.writeHead(429, { "x-r": ["1", "2"] }).end()],
    ["chunks", (_, response) => void (response.write("ü"), response.end("b".repeat(100_000)))],
    ["an error", (_, response) => response.writeHead(500).end("no")],
  ])("reads %s as fetch does, and sends the same", async (_name, answer) => {
    const receiver = await startTestReceiver(answer);
    const read = async (send: Send) => {
      const response = await send(`${receiver.url}/a?b=c`, request());
      const {
        date: _date,
        connection: _connection,
        "keep-alive": _alive,
        ...headers
      } = Object.fromEntries(response.headers);
      return { status: response.status, headers, text: await response.text() };
    };
    expect(await read(sendByNode)).toEqual(await read(fetch));
    const [ours, theirs] = receiver.received;
    const sent = ({ method, path, text, headers }: NonNullable<typeof ours>) => {
      const { "content-type": type, "content-length": length, "x-own": own, accept } = headers;
      return { method, path, text, type, length, own, accept };
    };
    expect(receiver.received).toHaveLength(2);
    expect(ours && sent(ours)).toEqual(theirs && sent(theirs));
    expect(ours?.headers).toMatchObject({ connection: "close", "user-agent": "outbound-calls" });
  });

  it("opens a connection for each request", async () => {
    const { port, sockets } = await startRaw((socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
    );
    for (let n = 0; n < 3; n++) {
      const response = await sendByNode(`http://127.0.0.1:${port}/`, request());
      expect(await response.text()).toBe("ok");
    }
    expect(sockets).toHaveLength(3);
  });

  it("sends nothing to a server whose certificate is not trusted", async () => {
    let requests = 0;
    const server = createTlsServer(certificate, () => requests++);
    const received: Buffer[] = [];
    server.on("secureConnection", (socket) => socket.on("data", (data) => received.push(data)));
    const port = await portOf(server);
    const outcome = await post(sendByNode, `https://localhost:${port}/`, {
      ...request(),
      timeoutSeconds: 5,
    });
    expect(outcome).toEqual({
      kind: "not_placed",
      code: "depth_zero_self_signed_cert",
      unreachable: true,
    });
    expect({ requests, received }).toEqual({ requests: 0, received: [] });
  });

  it("sends to a server whose certificate is trusted, and resumes its session", async () => {
    const server = createTlsServer(certificate, ({ socket }, response) => {
      response.end(socket instanceof TLSSocket && socket.isSessionReused() ? "again" : "first");
    });
    const url = `https://localhost:${await portOf(server)}/`;
    const script = `import { sendByNode } from ${JSON.stringify(nodeSend)};
      const request = { headers: {}, redirect: "manual", signal: AbortSignal.timeout(120_000) };
      for (let n = 0; n < 2; n++) console.log(await (await sendByNode("${url}", request)).text());`;
    const env = await trustingEnvironment();
    const args = ["--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(stdout).toBe("first\nagain\n");
  });

  it("is surely not placed where TLS does not come about before the time limit", async () => {
    const { port } = await startRaw(() => undefined);
    const outcome = await post(sendByNode, `https://127.0.0.1:${port}/`, {
      ...request(),
      timeoutSeconds: 0.2,
    });
    expect(outcome).toEqual({ kind: "not_placed", code: "connect_timeout", unreachable: true });
  });

  it.each(["http", "https"])(
    "asks once the connection of %s stands whether the request may leave, and sends nothing otherwise",
    async (scheme) => {
      const bytes: Buffer[] = [];
      let connections = 0;
      const server = scheme === "http" ? createServer() : createTlsServer(certificate);
      server.on("connection", () => (connections += 1));
      server.on(scheme === "http" ? "connection" : "secureConnection", (socket: Socket) => {
        socket.on("error", () => undefined).on("data", (data: Buffer) => bytes.push(data));
      });
      const url = `${scheme}://localhost:${await portOf(server)}/`;
      const script = `import { sendByNode } from ${JSON.stringify(nodeSend)};
        const request = { method: "POST", body: "x", headers: {}, redirect: "manual" };
        const mayLeave = () => (console.log("asked"), false);
        await sendByNode("${url}", { ...request, signal: AbortSignal.timeout(120_000), mayLeave })
          .catch((error) => console.log(error.constructor.name));`;
      const env = await trustingEnvironment();
      const args = ["--input-type=module", "--eval", script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      expect(stdout).toBe("asked\nWithheld\n");
      expect({ connections, bytes }).toEqual({ connections: 1, bytes: [] });
    },
  );

  it("sends nothing after a process was stopped while it set up the connection", async () => {
    const received = new Set<string | undefined>();
    const server = createTlsServer(certificate, ({ url: path }, response) => {
      received.add(path);
      response.end("{}");
    });
    const url = `https://localhost:${await portOf(server)}/`;
    const env = await trustingEnvironment();
    const script = `import { sendByNode } from ${JSON.stringify(nodeSend)};
      const request = { method: "POST", body: "x", headers: {}, redirect: "manual" };
      process.stdin.once("data", async () => {
        const startedAt = Date.now();
        const mayLeave = () => Date.now() - startedAt < 500;
        process.stdout.write("sending");
        const signal = AbortSignal.timeout(120_000);
        const answer = await sendByNode("${url}" + process.argv[1], { ...request, signal, mayLeave })
          .catch((error) => error);
        process.stdout.write(" " + (answer.status ?? answer.constructor.name));
        process.exit();
      });
      process.stdout.write("ready ");`;
    const said = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const args = ["--input-type=module", "--eval", script, String(index)];
        const child = spawn(process.execPath, args, { env });
        onTestFinished(() => void child.kill("SIGKILL"));
        let text = "";
        child.stdout.on("data", (data: Buffer) => {
          text += data.toString();
          // Stopped as soon as it is seen to send, and somewhat later.
          if (!text.endsWith("sending")) return;
          const until = performance.now() + index * 0.4;
          while (performance.now() < until);
          child.kill("SIGSTOP");
        });
        child.stderr.on("data", (data: Buffer) => (text += data.toString()));
        await vi.waitFor(() => expect(text).toBe("ready "), guard);
        child.stdin.write("go");
        await vi.waitFor(() => expect(text).toContain("sending"), guard);
        await new Promise((next) => setTimeout(next, 1000));
        const isReceived = received.has(`/${index}`);
        child.kill("SIGCONT");
        await vi.waitFor(() => expect(text).toMatch(/ (200|Withheld)$/), guard);
        return { text, isReceived };
      }),
    );
    // A request that left has left before its process was stopped.
    for (const { text, isReceived } of said) expect(text.endsWith("200")).toBe(isReceived);
    expect(said.some(({ isReceived }) => !isReceived)).toBe(true);
  });

  it("waits ten seconds for a connection", async () => {
    const { port, sockets } = await startRaw(() => undefined);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const outcome = post(sendByNode, `https://127.0.0.1:${port}/`, {
      ...request(),
      timeoutSeconds: 30,
    });
    await vi.waitFor(() => expect(sockets).toHaveLength(1), guard);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await outcome).toMatchObject({ kind: "not_placed", code: "connect_timeout" });
  });

  it("does not know what became of a request that was sent and not answered in time", async () => {
    const { port } = await startRaw(() => undefined);
    const outcome = await post(sendByNode, `http://127.0.0.1:${port}/`, {
      ...request(),
      timeoutSeconds: 0.2,
    });
    expect(outcome).toEqual({ kind: "unknown", code: "time_out" });
  });

  it("waits longer than that for the answer", async () => {
    let answer: (() => unknown) | undefined;
    const { port } = await startRaw((socket) => {
      answer = () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const answered = sendByNode(`http://127.0.0.1:${port}/`, request());
    await vi.waitFor(() => expect(answer).toBeDefined(), guard);
    await vi.advanceTimersByTimeAsync(20_000);
    answer?.();
    expect(await (await answered).text()).toBe("ok");
  });

  it.each([
    "HTTP/1.1 999 No\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    "welcome\r\n\r\n",
  ])("does not know what %j means", async (said) => {
    const { port, sockets } = await startRaw((socket) => socket.write(said));
    const outcome = await post(sendByNode, `http://127.0.0.1:${port}/`, {
      ...request(),
      timeoutSeconds: 5,
    });
    expect(outcome).toEqual({ kind: "unknown", code: "connection_broken" });
    await vi.waitFor(() => expect(sockets[0]?.destroyed).toBe(true), guard);
  });

  it("survives a connection that breaks while nobody reads the answer", async () => {
    const { port } = await startRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok");
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    const response = await sendByNode(`http://127.0.0.1:${port}/`, request());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect(response.text()).rejects.toThrow();
  });

  it("closes the connection of an answer that is not read to its end", async () => {
    const { port, sockets } = await startRaw((socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"),
    );
    const response = await sendByNode(`http://127.0.0.1:${port}/`, request());
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(sockets[0]?.destroyed).toBe(true), guard);
  });
});
