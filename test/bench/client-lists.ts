/** Measures the pages of a client's list of requests, with a thousand requests and with a million of it and of another one. */
import { packedHex } from "../support/packed-hex.ts";
import { rowIn } from "../support/rows.ts";
import { createTestApi } from "../support/api.ts";
import { tokens } from "../support/environment.ts";
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { callOf, fillD1By, timeDigits } from "./filled-ledger.ts";
import { inWords } from "./growth-counts.ts";
import { summary } from "./measure.ts";
import { createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import type { CountedPlatform } from "./service.ts";

/** Requests of the client; another client has as many, in the same campaigns. */
const sizes = { Cloudflare: [1000, 1_000_000], AWS: [600, 3000] } as const;
const everyMs = 2000;
const pagesOfRound = 20;
const roundsOfSize = 5;
const pageMsMax = 200;
const now = Date.parse("2026-06-01T12:00:00Z");

/** Rows of PLACED calls, each the only one of its request. Even ones are the client's. */
const fill = `
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2),
made(i, at, client, campaign) AS (SELECT i, CAST(?3 AS INTEGER) - 60000 - (i / 2) * ${everyMs},
  iif(i % 2 = 0, 'crm', 'shop'), iif(i % 20 < 2, 'rare', 'spring') FROM n)
INSERT INTO calls (id, version, number_hash, client, campaign, agent_id, state, accepted_at, row)
SELECT 'call_' || ${timeDigits} || printf('%016d', i) || '_00000', printf('%020x', i), unhex(printf('%072x', i)),
  client, campaign, 'agent', 'PLACED', at, unhex(json_extract(?4, '$.' || client || '.' || campaign))
FROM made`;

/** The rest of the rows, by client and campaign. */
const packed = Object.fromEntries(
  ["crm", "shop"].map((client) => [
    client,
    Object.fromEntries(["rare", "spring"].map((campaign) => [campaign, restOf(client, campaign)])),
  ]),
);

function restOf(client: string, campaign: string): string {
  return packedHex({
    reason: "placed",
    client,
    labels: { campaign },
    first: "request",
    agentId: "agent",
    attempt: 1,
    claims: ["0".repeat(20)],
    claimedAt: now,
    updatedAt: now,
    numberTail: "23",
    providerCallId: `CA${"0".repeat(32)}`,
    history: [
      { at: 1, state: "DIALING", reason: "claimed" },
      { at: 2, state: "PLACED", reason: "placed" },
    ],
  });
}

/** Returns pages that a client asks for: the newest, of a campaign, of a time, and far down. */
function queriesOf(count: number): Record<string, string> {
  const isoOf = (index: number) => new Date(now - 60_000 - index * everyMs).toISOString();
  const to = isoOf(Math.floor(count * 0.75));
  return {
    "the newest": "",
    "of a campaign": "&campaign=spring",
    "of a campaign with one in ten": "&campaign=rare",
    "up to a time": `&to=${to}`,
    "of a campaign, up to a time": `&campaign=spring&to=${to}`,
  };
}

interface Page {
  ms: ReturnType<typeof summary>;
  /** Round trips, and rows or units read, of one page. */
  trips: number;
  read: number;
  found: number;
}

async function measure(platform: CountedPlatform, meter: Meter, count: number) {
  const { app } = createTestApi({ ledger: platform.ledger, now: () => now });
  const pages = new Map<string, Page>();
  for (const [name, query] of Object.entries(queriesOf(count))) {
    let found = 0;
    const ask = async () => {
      const headers = { authorization: `Bearer ${tokens.crmDesk}` };
      const response = await app.request(`/v1/requests?limit=50${query}`, { headers });
      const { requests }: { requests: object[] } = await response.json();
      found = requests.length;
    };
    await ask();
    meter.take();
    await ask();
    const { d1Queries, d1RowsRead, dynamoRequests, dynamoReadUnits } = sumOf(meter.take().values());
    const times: number[] = [];
    for (let round = 0; round < roundsOfSize; round++) {
      const startedAt = performance.now();
      for (let n = 0; n < pagesOfRound; n++) await ask();
      times.push((performance.now() - startedAt) / pagesOfRound);
    }
    const trips = d1Queries ?? dynamoRequests ?? NaN;
    pages.set(name, {
      ms: summary(times),
      trips,
      read: d1RowsRead ?? dynamoReadUnits ?? NaN,
      found,
    });
  }
  return pages;
}

async function fillDynamo({ ledger }: CountedPlatform, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += 100) {
    const changes = Array.from({ length: Math.min(100, to - start) }, (_, index) => {
      const n = start + index;
      const call = {
        ...callOf(n, now - 60_000 - Math.floor(n / 2) * everyMs),
        client: n % 2 === 0 ? "crm" : "shop",
        labels: { campaign: n % 20 < 2 ? "rare" : "spring" },
        first: "request" as const,
      };
      return { next: rowIn("PLACED", call, { at: call.acceptedAt }), seen: null };
    });
    if ((await ledger.write(changes)).includes(false)) throw new Error("a row was not written");
  }
}

const texts: string[] = [];
const targets: Target[] = [];
const meter = createMeter();
const starts = [
  async () => {
    const platform = await startCloudflare(meter);
    const fillFrom = (from: number, to: number) =>
      fillD1By(platform, from, to, fill, [now, JSON.stringify(packed)]);
    return { platform, fillFrom };
  },
  async () => {
    const platform = await startAws(meter);
    return { platform, fillFrom: (from: number, to: number) => fillDynamo(platform, from, to) };
  },
];
for (const start of starts) {
  const { platform, fillFrom } = await start();
  const { name } = platform;
  const [few, many] = sizes[name];
  try {
    let filled = 0;
    const measured: Map<string, Page>[] = [];
    for (const count of [few, many]) {
      await fillFrom(filled, 2 * count);
      filled = 2 * count;
      measured.push(await measure(platform, meter, count));
    }
    const [withFew, withMany] = measured;
    const unit = name === "AWS" ? "units" : "rows";
    const rows = [...(withMany ?? [])].map(([what, page]) => {
      const before = withFew?.get(what);
      const show = ({ ms, trips, read }: Page) =>
        `${ms.median.toFixed(1)} ms · ${trips} · ${Math.round(read)} ${unit}`;
      return {
        what,
        before,
        page,
        cells: [what, before === undefined ? "" : show(before), show(page)],
      };
    });
    const head = ["50 requests", ...[few, many].map((count) => `${inWords(count)} of each client`)];
    texts.push(
      `### ${name}`,
      table(
        head,
        rows.map(({ cells }) => cells),
      ),
    );
    const worst = Math.max(...rows.map(({ page }) => page.ms.high));
    const grown = rows.map(({ before, page }) => page.ms.median / (before?.ms.median ?? NaN));
    targets.push(
      {
        what: `a page of a client's requests, ${name}, ${inWords(many)} of it and of another client`,
        target: `≤ ${pageMsMax} ms`,
        measured: `${worst.toFixed(1)} ms (${Math.max(...grown).toFixed(2)} × that of ${inWords(few)})`,
        met: worst <= pageMsMax,
      },
      {
        what: `round trips and ${unit} read for it, ${name}, ${inWords(few)} to ${inWords(many)}`,
        target: "does not grow",
        measured: `${Math.max(...rows.map(({ page }) => page.trips))}, ${Math.max(...rows.map(({ page }) => Math.round(page.read)))}`,
        met: rows.every(
          ({ before, page }) =>
            page.trips <= (before?.trips ?? 0) && page.read <= (before?.read ?? 0) * 1.1,
        ),
      },
    );
  } finally {
    await platform.stop();
  }
}
report({
  title: "A client's list of requests",
  text: [
    "`GET /v1/requests?limit=50` over the engines on this machine, in turns: time · round trips · read.",
    ...texts,
  ].join("\n\n"),
  targets,
});
