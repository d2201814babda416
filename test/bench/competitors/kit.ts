import { hash, timingSafeEqual } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type Queue as BullQueue, Queue } from "bullmq";
import { answer, ready } from "./side.ts";

/** Hash of the bearer token that the bench gives every side. */
const digest = Buffer.from(process.env["TOKEN_SHA256"] ?? "", "hex");

/** True if an Authorization header holds the bench's token. The check is as thorough as ours. */
export function isAuthorized(header: string | undefined): boolean {
  const token = header?.startsWith("Bearer ") === true ? header.slice(7) : "";
  return timingSafeEqual(Buffer.from(hash("sha256", token, "hex"), "hex"), digest);
}

/**
 * Returns a function that enqueues an accepted call: with BullMQ on the Redis whose port the bench gives, or,
 * without a port, nowhere after making its JSON.
 */
export function enqueuer(): (call: object) => Promise<unknown> {
  const port = process.env["REDIS_PORT"];
  let bytes = 0;
  if (port === undefined) {
    return async (call) => (bytes += JSON.stringify(call).length);
  }
  const queue: BullQueue = new Queue("calls", {
    connection: { host: "127.0.0.1", port: Number(port) },
    defaultJobOptions: { removeOnComplete: true },
  });
  return (call) => queue.add("call", call);
}

/** Reports to the bench that a server listens, and answers its questions. */
export function serving(server: { address(): AddressInfo | string | null }): void {
  const address = server.address();
  ready({ port: typeof address === "object" && address !== null ? address.port : 0 });
  answer();
}
