import { createServer } from "node:http";
import { print } from "../cli/print.ts";
import * as z from "#shared/lib/zod.ts";

const eventSchema = z.object({
  type: z.string(),
  data: z.object({
    id: z.optional(z.string()),
    request_id: z.string(),
    result: z.nullish(z.object({ status: z.string() })),
    test: z.optional(z.literal(true)),
  }),
});
const bytesMax = 1024 * 1024;

/**
 * Starts a receiver of events on this machine, which prints a line of each: its type, ids and result, and nothing of the
 * callee. It ends with the process.
 *
 * @returns its URL
 */
export async function startEventPrinter(host: string): Promise<string> {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => {
      text = (text + part).slice(0, bytesMax);
    });
    request.on("end", () => {
      print(`event: ${describeEvent(text)}`);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, host, listening));
  server.unref();
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("there is no port");
  return `http://${host}:${address.port}/events`;
}

function describeEvent(text: string): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return "unreadable";
  }
  const { data: event } = eventSchema.safeParse(body);
  if (event === undefined) return "unreadable";
  const { id, request_id, result, test } = event.data;
  const words = [
    event.type,
    id ?? request_id,
    result?.status,
    test === true ? "(test)" : undefined,
  ];
  return words.filter((word) => word !== undefined).join(" ");
}
