/** The shapes in which calls arrive, and a call's requests to a platform's services for each shape. */
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { combined, type Counted, type Meter, sumOf } from "./meter.ts";
import { type CountedPlatform, createService, requestOf } from "./service.ts";

export type Shape = "lone" | "batch100" | "batch1000";

/** Number of calls counted, calls per request, and whether deliveries are full. */
export const shapes: Record<Shape, { told: string; calls: number; perRequest: number }> = {
  lone: { told: "posted singly", calls: 200, perRequest: 1 },
  batch100: { told: "in batches of 100", calls: 1000, perRequest: 100 },
  batch1000: { told: "in batches of 1,000", calls: 1000, perRequest: 1000 },
};
export const shapeNames: readonly Shape[] = ["lone", "batch100", "batch1000"];

/** Counts of one call of a shape, by stage. */
export type Stages = Map<string, Counted>;

export const requestsOf = (count: number) => Array.from({ length: count }, (_, n) => requestOf(n));
export const divided = (counted: Counted, by: number) =>
  combined(counted, {}, (amount) => amount / by);

type Service = ReturnType<typeof createService>;

/** Posts one request; a batch is split. */
async function post(service: Service, perRequest: number, from: number): Promise<void> {
  if (perRequest === 1) return service.accept(requestOf(from));
  await service.accept(requestsOf(perRequest));
  await service.split();
}

/** Posts the requests of a shape, and delivers the resulting messages. */
async function postAll(service: Service, shape: Shape): Promise<void> {
  const { calls, perRequest } = shapes[shape];
  for (let posted = 0; posted < calls; posted += perRequest) {
    await post(service, perRequest, posted);
    if (perRequest === 1) await service.deliverAll();
  }
  if (perRequest > 1) await service.handOut();
}

/**
 * Accepts fresh calls and takes them to their end. Counts, beside the requests to the engines, storedBytes
 * and storedTableBytes: the storage of a placed call.
 */
export async function countShape(
  platform: CountedPlatform,
  meter: Meter,
  shape: Shape,
): Promise<Stages> {
  const { calls } = shapes[shape];
  const service = createService(platform, meter);
  await service.know();
  meter.take();
  const before = platform.stored();
  await postAll(service, shape);
  const stages = meter.take();
  const after = platform.stored();
  stages.set("stored", {
    storedBytes: after.all - before.all,
    storedTableBytes: after.table - before.table,
  });
  return new Map([...stages].map(([stage, counted]) => [stage, divided(counted, calls)]));
}

/**
 * Counts the extra cost of a call that arrives at night and must wait for its hours: it is written as a row,
 * and handed out by a dispatcher.
 *
 * @param straight counts of a call of this shape that goes at once
 */
export async function countWait(
  platform: CountedPlatform,
  meter: Meter,
  shape: Shape,
  straight: Counted,
): Promise<Counted> {
  const { calls } = shapes[shape];
  const hours = { callingHours: { default: { "mon-sun": ["09:00-17:00"] } } };
  const service = createService(platform, meter, { plan: hours });
  const { clock } = platform;
  clock.set(Date.parse("2026-06-02T07:00:00Z")); // 3 a.m. in New York
  await postAll(service, shape);
  clock.set(Date.parse("2026-06-02T13:00:03Z"));
  await service.handOut();
  const counted = divided(sumOf(meter.take().values()), calls);
  clock.set(Date.now());
  await forgetSweeps(platform);
  meter.take();
  if (counted["providerRequests"] !== 1) throw new Error("not every call was dialed");
  return combined(counted, straight, (a, b) => Math.max(0, a - b));
}

/** Counts the cost of a minute in which nothing is due: a sweep and a dispatcher. */
export async function countIdleMinute(platform: CountedPlatform, meter: Meter): Promise<Counted> {
  await forgetSweeps(platform);
  const { clock } = platform;
  const wait = async (ms: number) => clock.set(clock.now() + Math.max(0, ms));
  const service = createService(platform, meter, { wait });
  for (let minute = 0; minute < 2; minute++) {
    meter.take();
    await service.sweep();
    await service.dispatch(60_000);
  }
  clock.set(Date.now());
  return sumOf(meter.take().values());
}

/** Removes the documents of earlier sweeps and dispatchers. */
export async function forgetSweeps({ documents }: CountedPlatform): Promise<void> {
  const found = await Promise.all(
    (["sweep", "backlog"] as const).map((kind) => documents.list(kind, { limit: 100 })),
  );
  const { kind, key } = dispatcherKey;
  const dispatcher = (await documents.read([dispatcherKey])).get(kind, key);
  const all = [...found.flat(), ...(dispatcher === undefined ? [] : [dispatcher])];
  await documents.remove(all.map((one) => ({ ...one, seen: one.version })));
}
