import { useEffect, useMemo, useState } from "preact/hooks";

/** The views of the page by their names in the URL, in the order of the navigation. */
export const views = {
  overview: "Overview",
  requests: "Requests",
  campaigns: "Campaigns",
  review: "Review",
  calls: "Calls",
  accounts: "Accounts and agents",
  forecast: "Forecast",
  send: "Send",
  "do-not-call": "Do not call",
  clients: "Clients",
  incidents: "Incidents",
  audit: "Audit log",
} as const;
export type View = keyof typeof views;

/** The location in the page that a URL names: a view, the subject's id, and filters; never a phone number. */
export interface Place {
  view: View;
  id: string | undefined;
  query: Readonly<Record<string, string>>;
}

/** Parses a URL's fragment, such as `#/calls?state=WAITING`. An unknown one is the overview. */
function placeIn(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", id] = path.split("/").map(decoded);
  const view = isView(name) ? name : "overview";
  return { view, id: id || undefined, query: Object.fromEntries(new URLSearchParams(search)) };
}

function isView(name: string): name is View {
  return Object.hasOwn(views, name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Returns the fragment of a view. Empty filters are left out. */
export function addressOf(
  view: View,
  { id, ...query }: Readonly<Record<string, string | undefined>> = {},
): string {
  const texts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) texts.set(name, value);
  const search = texts.size === 0 ? "" : `?${texts.toString()}`;
  return `#/${view}${id === undefined ? "" : `/${encodeURIComponent(id)}`}${search}`;
}

/** Goes to a fragment. `replace` adds no entry to the browser's history. */
export function go(address: string, { replace = false } = {}): void {
  if (replace) location.replace(address);
  else location.assign(address);
}

/** Returns the current location, and renders again when it changes. */
export function usePlace(): Place {
  const [hash, setHash] = useState(() => location.hash);
  useEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener("hashchange", read);
    // The fragment may have changed after the first rendering, before this listener was there.
    read();
    return () => removeEventListener("hashchange", read);
  }, []);
  return useMemo(() => placeIn(hash), [hash]);
}
