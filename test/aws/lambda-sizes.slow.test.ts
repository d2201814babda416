/** The functions of this machine refuse what Lambda refuses: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html */
import { join } from "node:path";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSEvent } from "aws-lambda";
import { afterAll, describe, expect, it } from "vitest";
import { startEventSource } from "#infra/local/event-source.ts";
import { startInvokeEndpoint } from "#infra/local/invoke-endpoint.ts";
import { startFunction } from "#infra/local/lambda-runtime.ts";
import { useAwsEngines } from "./use-engines.ts";

const mebibyte = 1024 * 1024;
const engines = useAwsEngines();
const sized = startFunction({
  name: "sized",
  bundle: join(import.meta.dirname, "../support/sized-function.ts"),
  environment: {},
  instances: 1,
  timeoutSeconds: 30,
});
afterAll(() => sized.stop());

describe("a function", () => {
  /** The bytes of an event around its filling. */
  const around = JSON.stringify({ letters: 1, filling: "" }).length;

  it("takes an event of 6 MB, and no larger one", async () => {
    const invoke = (bytes: number) =>
      sized.invoke({ letters: 1, filling: "x".repeat(bytes - around) });
    expect(await invoke(6 * mebibyte)).toBe("x");
    await expect(invoke(6 * mebibyte + 1)).rejects.toThrow("no event of more than 6 MB");
  });

  it("answers with 6 MB, and no more", async () => {
    const invoke = (letters: number) => sized.invoke({ letters });
    await expect(invoke(6 * mebibyte - 2)).resolves.toHaveLength(6 * mebibyte - 2);
    await expect(invoke(6 * mebibyte - 1)).rejects.toThrow("answer has more than 6 MB");
    expect(await invoke(1)).toBe("x"); // the next one is as any
  });

  it("is invoked asynchronously with 1 MB, and no more", async () => {
    const endpoint = await startInvokeEndpoint();
    endpoint.add("sized", sized);
    const invoke = async (bytes: number) => {
      const filling = "x".repeat(bytes - around);
      const answer = await fetch(`${endpoint.url}/2015-03-31/functions/sized/invocations`, {
        method: "POST",
        headers: { "x-amz-invocation-type": "Event" },
        body: JSON.stringify({ letters: 1, filling }),
      });
      return answer.status;
    };
    expect([await invoke(mebibyte), await invoke(mebibyte + 1)]).toEqual([202, 413]);
    endpoint.stop();
  });
});

describe("a queue's event source", () => {
  it("delivers no more than 6 MB at once, and all messages", async () => {
    const { sqs, createQueue } = engines();
    const queueUrl = await createQueue("sizes", { VisibilityTimeout: "60" });
    for (let n = 0; n < 10; n++) {
      const MessageBody = String(n).padEnd(900_000, "x");
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
    }
    const delivered: string[] = [];
    const sizes: number[] = [];
    const consumer = {
      name: "sized",
      async invoke(event: unknown) {
        sizes.push(Buffer.byteLength(JSON.stringify(event)));
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the event source makes it
        delivered.push(...(event as SQSEvent).Records.map(({ body }) => body.slice(0, 1)));
        return { batchItemFailures: [] };
      },
      stop: async () => undefined,
    };
    const options = { consumer, queueUrl, queueName: "sizes", batchSize: 10, concurrency: 1 };
    const source = startEventSource(options);
    await expect.poll(() => delivered.length).toBe(10);
    await source.stop();
    expect(delivered.toSorted().join("")).toBe("0123456789");
    expect(Math.max(...sizes)).toBeLessThanOrEqual(6 * mebibyte);
    expect(sizes.length).toBeGreaterThan(1);
  });
});
