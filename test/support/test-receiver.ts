import { onTestFinished } from "vitest";
import { startReceiver } from "./receiver.ts";

/** Starts a receiver that is closed after the current test. */
export async function startTestReceiver(answer: Parameters<typeof startReceiver>[0]) {
  const receiver = await startReceiver(answer);
  onTestFinished(receiver.close);
  return receiver;
}
