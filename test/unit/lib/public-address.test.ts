import * as fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { findUrlProblem, isPublicAddress } from "#shared/lib/public-address.ts";
import {
  blockedIpv4,
  blockedIpv6,
  embeddingsOfIpv4,
  publicIpv4,
  publicIpv6,
  spellingsOfIpv4,
} from "#test/support/spelled-addresses.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const nowhere = { loopback: false };
const problemOf = (host: string) => findUrlProblem(`https://${host}/hook`, nowhere);
const reserved = "must not be a private or reserved address";
const noName = "must have a public host name";

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Returns the ranges in a list of ranges and of lists of them. */
function rangesIn(value: unknown): Range[] {
  if (!Array.isArray(value)) return [];
  const [first, second] = value;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package has no types of its table
  return typeof second === "number" ? [[first, second] as Range] : value.flatMap(rangesIn);
}

/** Returns the bytes of the first and last address of a range, and of the two beside it. */
function endsOf([network, length]: Range): number[][] {
  const bytes = network.toByteArray();
  const bits = BigInt(bytes.length * 8);
  const first = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const last = first + (1n << (bits - BigInt(length))) - 1n;
  return [first - 1n, first, last, last + 1n].map((end) =>
    bytes.map((_, index) =>
      Number((BigInt.asUintN(Number(bits), end) >> (bits - 8n * BigInt(index + 1))) & 255n),
    ),
  );
}

describe("the address of a client's own receiver", () => {
  it("is never a private or reserved one of IPv4, however it is spelled", () => {
    const spelled = blockedIpv4.chain(spellingsOfIpv4);
    fc.assert(fc.property(spelled, (host) => problemOf(host) === reserved));
  });

  it("is any public one of IPv4, however it is spelled", () => {
    const spelled = publicIpv4.chain(spellingsOfIpv4);
    fc.assert(fc.property(spelled, (host) => problemOf(host) === undefined));
  });

  it("is never one of IPv6 that may lead to one of IPv4", () => {
    const embedded = fc.oneof(blockedIpv4, publicIpv4).chain(embeddingsOfIpv4);
    fc.assert(fc.property(embedded, (host) => problemOf(host) === reserved));
  });

  it("is never a private or reserved one of IPv6, and any public one", () => {
    fc.assert(
      fc.property(blockedIpv6, publicIpv6, (blocked, open) => {
        expect([problemOf(`[${blocked}]`), isPublicAddress(blocked)]).toEqual([reserved, false]);
        expect([problemOf(`[${open}]`), isPublicAddress(open)]).toEqual([undefined, true]);
      }),
    );
  });

  it("is public as ipaddr.js says, at both ends of each range and beside them", inSlowTier, () => {
    const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6) =>
      address.range() === "unicast" &&
      (address.kind() === "ipv4" || address.match(ipaddr.parseCIDR("2000::/3")));
    const ends = [ipaddr.IPv4, ipaddr.IPv6].flatMap((kind) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package's types lack it
      const { SpecialRanges: ranges } = kind.prototype as unknown as {
        SpecialRanges: Record<string, unknown>;
      };
      return rangesIn(Object.values(ranges)).flatMap(endsOf);
    });
    const byte = fc.integer({ min: 0, max: 255 });
    const any = fc
      .tuple(fc.array(byte, { minLength: 16, maxLength: 16 }), fc.constantFrom(4, 16))
      .map(([bytes, length]): number[] => bytes.slice(0, length));
    const near = fc
      .tuple(fc.constantFrom(...ends), any)
      .map(([end, other]) => end.map((own, index) => (index < 6 ? own : (other[index] ?? own))));
    const sources = [...ends, ...fc.sample(any, 500), ...fc.sample(near, 500)];
    const addresses = sources.map((bytes) => ipaddr.fromByteArray(bytes));
    const wrong = addresses.filter((one) => isPublicAddress(one.toString()) !== isPublic(one));
    expect(wrong.map(String)).toEqual([]);
    expect(ends.length).toBeGreaterThan(100); // those of all ranges
  });

  it.each([
    ["2130706433", reserved],
    ["0x7f000001", reserved],
    ["0177.0.0.1", reserved],
    ["127.1", reserved],
    ["0", reserved],
    ["127.0.0.1.", reserved],
    ["%31%32%37.0.0.1", reserved],
    ["①②⑦.⓪.⓪.①", reserved],
    ["169.254.169.254", reserved],
    ["[fd00:ec2::254]", reserved],
    ["[::1]", reserved],
    ["[::ffff:169.254.169.254]", reserved],
    ["[64:ff9b::a9fe:a9fe]", reserved],
    ["[fe80::1]", reserved],
    ["localhost", noName],
    ["LOCALHOST", noName],
    ["app.localhost", noName],
    ["localhost.", noName],
    ["metadata.google.internal", noName],
    ["metadata.google.internal.", noName],
    ["metadata", noName],
    ["printer.local", noName],
    ["db.home.arpa", noName],
    ["ｌｏｃａｌｈｏｓｔ", noName],
    ["example.com.", noName],
    ["example..com", noName],
    ["_dmarc.example.com", noName],
    [`${"a.".repeat(126)}com`, noName],
    ["example.com:8443", "must be on port 443"],
    ["user@example.com", "must not hold a user"],
    ["user:secret@127.0.0.1", "must not hold a user"],
    ["256.1.1.1", "must be a URL"],
    ["example.com:99999", "must be a URL"],
    ["exa mple.com", "must be a URL"],
    ["[fe80::1%25eth0]", "must be a URL"],
  ])("is not %s", (host, problem) => {
    expect(problemOf(host)).toBe(problem);
  });

  it.each([
    "example.com",
    "EXAMPLE.com:443",
    "hooks.crm.example.co.uk",
    "bücher.example.com",
    "xn--bcher-kva.example.com",
    "1.1.1.1",
    "[2606:4700:4700::1111]",
    "127.0.0.1.nip.io", // a name: what it resolves to is seen by the connection
  ])("may be %s", (host) => {
    expect(problemOf(host)).toBeUndefined();
  });

  it.each([
    "http://example.com",
    "ftp://example.com",
    "file:///etc/passwd",
    "javascript:1",
    "/hook",
    "",
  ])("is no URL such as %s", (url) => {
    expect(findUrlProblem(url, nowhere)).toMatch(/^must be (?:https|a URL)$/);
  });

  it("is on this machine only for a local run, by plain http", () => {
    for (const url of ["http://127.0.0.1:8080/hook", "http://localhost:1", "http://[::1]/"]) {
      expect(findUrlProblem(url, nowhere)).toBe("must be https");
      expect(findUrlProblem(url, { loopback: true })).toBeUndefined();
    }
    for (const url of [
      "http://u@127.0.0.1/",
      "http://10.0.0.1/",
      "http://169.254.169.254/",
      "ftp://localhost/",
      "https://10.0.0.1/",
    ]) {
      expect(findUrlProblem(url, { loopback: true })).toBeDefined();
    }
  });
});
