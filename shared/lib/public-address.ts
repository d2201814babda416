/** The addresses to which clients may let the service post events: no others, however they are written. */
import ipaddr from "ipaddr.js";
import { isLoopback } from "./https-url.ts";

/** IPv6 addresses that are assigned for the internet. Whatever else a router may know is not public. */
const globalUnicast = ipaddr.parseCIDR("2000::/3");

/**
 * Last labels of names that do not belong to the public DNS (RFC 6761 and its registry), or that private networks and
 * clouds use for their own.
 */
const privateLabels = new Set(
  "alt arpa corp example home internal intranet invalid lan local localhost onion private test".split(
    " ",
  ),
);
/** A name of the public DNS, as the URL parser writes it: at least two labels, and the last one no number. */
const publicName =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)$/;
const nameCharactersMax = 253;

/**
 * True if an IP address belongs to the public internet: not to a private, link-local, loopback, shared, reserved or
 * multicast range, and not to an IPv6 range that translates to IPv4.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed.kind() === "ipv4" || parsed.match(globalUnicast);
}

/**
 * Returns why a client's own receiver may not have this URL; undefined if it may. The URL parser decodes the host first:
 * `0x7f.1`, `2130706433`, `%3127.0.0.1` and `①27.0.0.1` are all 127.0.0.1. A name may still resolve to any address, which
 * the connection checks.
 *
 * @param permits.loopback true for a local run: plain http to this machine is permitted
 */
export function findUrlProblem(text: string, permits: { loopback: boolean }): string | undefined {
  if (!URL.canParse(text)) return "must be a URL";
  const { protocol, hostname, port, username, password } = new URL(text);
  if (username !== "" || password !== "") return "must not hold a user";
  if (permits.loopback && isLoopback(text) && protocol === "http:") return undefined;
  if (protocol !== "https:") return "must be https";
  if (port !== "") return "must be on port 443";
  if (!isPublicOrName(hostname)) return "must not be a private or reserved address";
  if (isIpAddress(hostname)) return undefined;
  const label = hostname.length <= nameCharactersMax ? publicName.exec(hostname)?.[1] : undefined;
  return label === undefined || privateLabels.has(label)
    ? "must have a public host name"
    : undefined;
}

/** False for the host of a parsed URL that is an address, and not a public one. */
export function isPublicOrName(hostname: string): boolean {
  return !isIpAddress(hostname) || isPublicAddress(hostname.replace(/^\[|\]$/g, ""));
}

/** True for the host of a parsed URL that is an address: the parser writes IPv4 with four decimals, IPv6 in brackets. */
function isIpAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+(\.\d+){3}$/.test(hostname);
}
