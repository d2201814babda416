import type { Page } from "playwright-core";

/** A picture of one view, made in light and dark. */
export interface Shot {
  name: string;
  address: string;
  /** Files of functions/console that draw the view, without those that they import. */
  views: string[];
  /** Height of the window. */
  height: number;
  /** Text that is there once everything is. */
  ready: string;
  /** Does what leads to the picture. */
  before?(page: Page): Promise<void>;
}

export const shots: Shot[] = [
  {
    name: "overview",
    address: "overview",
    views: ["overview/overview.tsx"],
    height: 780,
    ready: "The calling hours of florida are closed.",
  },
  {
    name: "requests",
    address: "requests",
    views: ["requests/requests.tsx"],
    height: 560,
    ready: "600 calls",
  },
  {
    name: "review",
    address: "review",
    views: ["review/review.tsx"],
    height: 600,
    ready: "There is no other call to this number.",
  },
  {
    name: "forecast",
    address: "forecast",
    views: ["forecast/forecast.tsx"],
    height: 560,
    ready: "Calls by the hour",
    before: forecastLeads,
  },
];

/** Has 9,000 calls forecast that are sent in the evening, some of which are refused, and moves the answer into sight. */
async function forecastLeads(page: Page): Promise<void> {
  const areas = ["212", "305", "312", "415"]; // New York, Miami, Chicago, San Francisco
  const leads = Array.from({ length: 9000 }, (_, n) => ({
    phone_number: `+1${areas[n % 4]}555${String(n).padStart(4, "0")}`,
    agent_id: n % 90 === 7 ? "agent_unknown" : "agent_sales",
  }));
  const buffer = Buffer.from(JSON.stringify(leads));
  const mimeType = "application/json";
  const field = page.getByLabel(/^Drop a file of calls here/);
  await field.setInputFiles({ name: "leads.json", mimeType, buffer });
  await page.getByLabel("Client").selectOption("crm");
  await page.getByLabel(/^Sent at/).fill("2026-11-23T19:30");
  await page.getByRole("button", { name: "Forecast" }).click();
  const outcomes = page.getByRole("heading", { name: "What becomes of 9,000 calls" });
  await outcomes.waitFor();
  await outcomes.evaluate((element) => element.scrollIntoView());
}
