/**
 * Measures the deliveries of a hundred calls of a batch: their round trips to the ledger and the documents, if the
 * provider answers all at once and if each answer takes its own time, and the effect of sharing round trips.
 */
import { type Answers, makespan } from "./answers.ts";
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import { messageCallsMax } from "#shared/ports/call-messages.ts";
import { type CountedPlatform, createService } from "./service.ts";
import { requestsOf } from "./shapes.ts";
import { trySharing } from "./sharing.ts";

const calls = 100;
const tripsMax = 44;
const targets: Target[] = [];

/** Delivers the calls of a batch of a hundred as a dispatcher hands them out, a message after the other. */
async function deliver(
  platform: CountedPlatform,
  meter: Meter,
  service: ReturnType<typeof createService>,
  answers: Answers,
) {
  await service.accept(requestsOf(calls));
  await service.split();
  await service.dispatchAll(calls);
  meter.take();
  service.provider.setAnswers(answers);
  const start = performance.now();
  await service.deliverAll();
  const ms = performance.now() - start;
  const counted = sumOf(meter.take().values());
  if (counted["providerRequests"] !== calls) throw new Error("not every call was dialed");
  const { trips = 0, d1Queries = 0, dynamoRequests = 0 } = counted;
  const answerMs = service.provider.answerMs();
  const idealMs = Array.from({ length: calls / messageCallsMax }, (_, n) =>
    makespan(answerMs.slice(n * messageCallsMax, (n + 1) * messageCallsMax), platform.concurrency),
  ).reduce((sum, one) => sum + one, 0);
  return { trips, requests: d1Queries + dynamoRequests, ms, idealMs };
}

/** Measures a process's first delivery and a later one. */
async function measure(start: (meter: Meter) => Promise<CountedPlatform>): Promise<string[][]> {
  const meter = createMeter();
  const platform = await start(meter);
  const rows: string[][] = [];
  try {
    for (const answers of ["together", "apart"] as const) {
      const service = createService(platform, meter);
      const told = answers === "together" ? "all at once" : "50 to 250 ms apart";
      for (const when of ["first", "later"]) {
        const taken = await deliver(platform, meter, service, answers);
        const { trips, requests, ms, idealMs } = taken;
        const beside = answers === "together" ? "" : `${(ms / idealMs).toFixed(2)} × the ideal`;
        const numbers = [trips, requests, ms].map((number) => number.toFixed(0));
        rows.push([platform.name, told, when, ...numbers, beside]);
        if (when === "first") continue;
        targets.push({
          what: `round trips to ledger and documents per ${calls} calls handed out, ${platform.name}, answers ${told}`,
          target: `≤ ${tripsMax}`,
          measured: String(trips),
          met: trips <= tripsMax,
        });
      }
    }
  } finally {
    await platform.stop();
  }
  return rows;
}

const rows = [...(await measure(startCloudflare)), ...(await measure(startAws))];
const sharing = await trySharing();
report({
  title: "Deliveries of a hundred calls",
  text: [
    `The ${calls} calls of a batch, handed out in four messages of 25, one after the other, over the engines here. A round trip is a call of ` +
      "the ledger's or the documents' port; for one DynamoDB takes a request an item. The ideal is the provider's time " +
      "alone, with as many requests at once as may be.",
    table(
      ["", "the provider answers", "of the process", "round trips", "requests", "takes, ms", ""],
      rows,
    ),
    "Where answers come apart, by how long a write waits at most for others to share its round trip " +
      "(`shareMsMax` in functions/dialer/record/change-rows.ts); a later delivery of a process, in computed time, mean of ten " +
      "draws of answers:",
    table(sharing.head, sharing.rows),
  ].join("\n\n"),
  targets,
});
