import * as fc from "fast-check";
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

const nowhere = { loopback: false };
const problemOf = (host: string) => findUrlProblem(`https://${host}/hook`, nowhere);
const reserved = "must not be a private or reserved address";
const noName = "must have a public host name";

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
