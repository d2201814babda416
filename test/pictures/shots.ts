import type { Page } from "playwright-core";
import { makeLeadFile } from "../support/lead-file.ts";

/** A picture of one view, made for a desk and a phone, in light and dark. */
export interface Shot {
  name: string;
  address: string;
  /** Files of functions/console that draw the view, without those that they import. */
  views: string[];
  /** Text that is there once everything is. */
  ready: string;
  /** Does what leads to the picture. */
  before?(page: Page): Promise<void>;
}

/** The windows of a desk and of a phone. */
export const windows = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;

export const shots: Shot[] = [
  {
    name: "overview",
    address: "overview",
    views: ["overview/overview.tsx"],
    ready: "The calling hours of florida are closed.",
  },
  {
    name: "requests",
    address: "requests",
    views: ["requests/requests.tsx"],
    ready: "600 calls",
  },
  {
    name: "campaign",
    address: "campaigns/November%20offers?client=crm",
    views: ["campaigns/campaigns.tsx"],
    ready: "Why its calls wait",
  },
  { name: "campaigns", address: "campaigns", views: ["campaigns/campaigns.tsx"], ready: "Since" },
  {
    name: "review",
    address: "review",
    views: ["review/review.tsx"],
    ready: "There is no other call to this number.",
  },
  {
    name: "calls",
    address: "calls?state=WAITING",
    views: ["calls/calls.tsx"],
    ready: "Export CSV",
  },
  {
    name: "call",
    address: "calls?state=NEEDS_REVIEW",
    views: ["calls/calls.tsx"],
    ready: "There is no other call to this number.",
    before: (page) => page.locator("tbody th a").first().click(),
  },
  {
    name: "accounts",
    address: "accounts",
    views: ["accounts/accounts.tsx"],
    ready: "Waiting calls by agent and client",
  },
  {
    name: "forecast",
    address: "forecast",
    views: ["forecast/forecast.tsx"],
    ready: "Calls by the hour",
    before: forecastLeads,
  },
  {
    name: "send",
    address: "send",
    views: ["send/send.tsx"],
    ready: "The campaign",
    before: chooseLeads,
  },
  {
    name: "do-not-call",
    address: "do-not-call",
    views: ["do-not-call/do-not-call.tsx"],
    ready: "Is a number on the list?",
  },
  { name: "clients", address: "clients", views: ["clients/clients.tsx"], ready: "crm-desk" },
  {
    name: "incidents",
    address: "incidents",
    views: ["incidents/incidents.tsx"],
    ready: "The ledger was not restored.",
  },
  { name: "audit", address: "audit", views: ["audit/audit.tsx"], ready: "do not call add" },
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
  const outcomes = page.getByRole("heading", { name: "Outcome of 9,000 calls" });
  await outcomes.waitFor();
  await outcomes.evaluate((element) => element.scrollIntoView());
}

/** Chooses a list of 300 leads and their agent. */
async function chooseLeads(page: Page): Promise<void> {
  const buffer = Buffer.from(makeLeadFile(300).csv);
  const field = page.getByLabel(/^Drop a file of leads here/);
  await field.setInputFiles({ name: "leads.csv", mimeType: "text/csv", buffer });
  await page.getByLabel("Agent of rows that name none").fill("agent_sales");
}
