/**
 * `node test/bench/last-look.ts`: measures the time from a Worker's last look at the clock to its request's first bytes,
 * on loopback without TLS: the setting up of a connection, of which a Worker is told nothing. A function that stands still
 * within it sends late. Over a network, and with TLS, it takes two or three round trips more.
 */
import { createServer, type Socket } from "node:net";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const requests = 300;
const marked = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/** Looks as soon as the mark is answered, and then sends. */
const script = `export default {
  async fetch(request, { MARK, RING }) {
    await fetch(MARK, { method: "POST", body: "mark" });
    return fetch(RING, { method: "POST", body: "ring" });
  },
};`;

let markedAt = 0;
const widthsMs: number[] = [];
async function listen(onData: () => void): Promise<{ url: string; close: () => void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => {
      onData();
      socket.end(marked);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `http://127.0.0.1:${address.port}/`, close };
}

const mark = await listen(() => (markedAt = performance.now()));
const ring = await listen(() => void widthsMs.push(performance.now() - markedAt));
const worker = new Miniflare(
  convertV4MiniflareOptions({
    modules: true,
    script,
    compatibilityDate: "2026-06-01",
    bindings: { MARK: mark.url, RING: ring.url },
  }),
);
for (let n = 0; n < requests; n++) await (await worker.dispatchFetch("http://worker/")).text();
await worker.dispose();
mark.close();
ring.close();
const sorted = widthsMs.toSorted((a, b) => a - b);
const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(2);
console.log(`${sorted.length} requests: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`);
