import { join } from "node:path";
import { GetQueueAttributesCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { describe, expect, it, vi } from "vitest";
import { startEventSource } from "#infra/local/event-source.ts";
import { startFunction } from "#infra/local/lambda-runtime.ts";
import { nextTrace } from "#infra/local/lineage.ts";
import { traceQueues } from "#infra/local/traced-queues.ts";
import { useAwsEngines } from "./use-engines.ts";

const engines = useAwsEngines();

describe("the local AWS shape", () => {
  it("stops a function that sends itself messages after sixteen, as Lambda does", async () => {
    const { endpoint, variables, sqs, createQueue } = engines();
    const traced = await traceQueues(endpoint);
    const queueUrl = await createQueue("chained", { VisibilityTimeout: "60" });
    const chained = startFunction({
      name: "chained",
      bundle: join(import.meta.dirname, "../support/chained-function.ts"),
      environment: {
        ...variables,
        AWS_ENDPOINT_URL_SQS: traced.endpoint,
        QUEUE_URL: queueUrl.replace(endpoint, traced.endpoint),
      },
      instances: 1,
      timeoutSeconds: 30,
    });
    const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const source = startEventSource({
      consumer: chained,
      queueUrl,
      queueName: "chained",
      batchSize: 1,
      concurrency: 1,
    });
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: "1" }));
    await expect
      .poll(() => printed.mock.calls.flat())
      .toContainEqual(expect.stringContaining("recursive.stopped"));
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl: queueUrl,
        AttributeNames: ["ApproximateNumberOfMessagesNotVisible"],
      }),
    );
    // The seventeenth stays, and comes again.
    expect(Attributes?.ApproximateNumberOfMessagesNotVisible).toBe("1");
    await source.stop();
    await chained.stop();
    traced.stop();
  });
});

describe("a chain of invocations", () => {
  it("counts each function's own, and the longest of a batch", () => {
    const first = nextTrace([], "dialer") ?? "";
    const second = nextTrace([first], "api") ?? "";
    const third = nextTrace([second, first], "dialer");
    expect(third).toMatch(/Lineage=dialer:2\|api:1$/);
    expect(nextTrace([`${first};Lineage=dialer:16`], "dialer")).toBeUndefined();
    expect(nextTrace(["Root=1-0-0;Lineage=dialer:16"], "api")).toMatch(/dialer:16\|api:1$/);
  });
});
