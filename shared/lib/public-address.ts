/** The addresses to which clients may let the service post events, and no others, however they are written. */
import { isLoopback } from "./https-url.ts";

/**
 * Ranges of IPv4 that are not public, and those of IPv6 within `publicIpv6`, by IANA's registries of special addresses. A test
 * compares them with `ipaddr.js`, so that they do not grow old.
 */
const special =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 " +
  "192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 " +
  "240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20";
/** IPv6 addresses that are assigned for the internet. Whatever else a router may know is not public. */
const publicIpv6 = "2000::/3";

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
  const bits = bitsOf(address);
  if (bits === undefined || special.split(" ").some((range) => isWithin(bits, range))) return false;
  return bits.length === ipv4Bits || isWithin(bits, publicIpv6);
}

const ipv4Bits = 32;

function isWithin(bits: string, range: string): boolean {
  const [network = "", length] = range.split("/");
  const own = bitsOf(network);
  return own?.length === bits.length && bits.startsWith(own.slice(0, Number(length)));
}

/** Returns the bits of an address as a text of zeros and ones; undefined for text in no usual form of one. */
function bitsOf(address: string): string | undefined {
  if (/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(address)) {
    const bytes = address.split(".").map(Number);
    return bytes.every((byte) => byte < 256) ? joinBits(bytes, 8) : undefined;
  }
  if (!/^[\da-f:.]*:[\da-f:.]*$/i.test(address) || !URL.canParse(`http://[${address}]`))
    return undefined;
  const { hostname } = new URL(`http://[${address}]`); // has eight groups, of which `::` leaves out zeros
  const [first = [], last = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((side) =>
      side
        .split(":")
        .filter((group) => group !== "")
        .map((group) => Number.parseInt(group, 16)),
    );
  return joinBits(
    [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last],
    16,
  );
}

function joinBits(numbers: readonly number[], width: number): string {
  return numbers.map((one) => one.toString(2).padStart(width, "0")).join("");
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
