import { BlockList } from "node:net";
import * as fc from "fast-check";

/** Special-purpose ranges of IPv4 (https://www.iana.org/assignments/iana-ipv4-special-registry), multicast with them. */
const ipv4Ranges = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
] as const;

/** Special-purpose ranges of IPv6 (https://www.iana.org/assignments/iana-ipv6-special-registry), and former ones. */
const ipv6Ranges = [
  "::/96",
  "::ffff:0:0/96",
  "::ffff:0:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
] as const;

const list = new BlockList();
for (const range of ipv4Ranges) {
  const [network = "", bits] = range.split("/");
  list.addSubnet(network, Number(bits), "ipv4");
}

const bytesOf = (address: number) => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255);
const dotted = (address: number) => bytesOf(address).join(".");

/** Any address of IPv4, as a number. */
const anyIpv4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
/** An address of IPv4 in a range that is not public. */
export const blockedIpv4 = fc.tuple(fc.constantFrom(...ipv4Ranges), anyIpv4).map(([range, any]) => {
  const [network = "", bits] = range.split("/");
  const base = network.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  return base + (any % 2 ** (32 - Number(bits)));
});
/** A public address of IPv4. */
export const publicIpv4 = anyIpv4.filter((address) => !list.check(dotted(address)));

const spelledPart = (value: number) =>
  fc.constantFrom(
    String(value),
    `0x${value.toString(16)}`,
    `0X${value.toString(16).toUpperCase()}`,
    `0x000${value.toString(16)}`,
    `0${value.toString(8)}`,
    `000${value.toString(8)}`,
  );

const fullWidth = (text: string) =>
  text.replaceAll(/[0-9a-z.]/gi, (one) =>
    one === "." ? "。" : String.fromCodePoint((one.codePointAt(0) ?? 0) + 0xfee0),
  );
const percent = (text: string) =>
  Array.from(text, (one) => `%${(one.codePointAt(0) ?? 0).toString(16)}`).join("");

/** Returns spellings of an address as the host of a URL: of one to four parts, in any base, encoded or not. */
export function spellingsOfIpv4(address: number): fc.Arbitrary<string> {
  const [a = 0, b = 0, c = 0, d = 0] = bytesOf(address);
  return fc
    .constantFrom(
      [a, b, c, d],
      [a, b, c * 256 + d],
      [a, (b * 256 + c) * 256 + d],
      [((a * 256 + b) * 256 + c) * 256 + d],
    )
    .chain((parts) => fc.tuple(...parts.map(spelledPart)))
    .map((parts) => parts.join("."))
    .chain((text) =>
      fc.constantFrom(
        text,
        `${text}.`,
        percent(text),
        fullWidth(text),
        percent(text[0] ?? "") + text.slice(1),
      ),
    );
}

/** Returns spellings of addresses of IPv6 that lead to an address of IPv4, or may. */
export function embeddingsOfIpv4(address: number): fc.Arbitrary<string> {
  const [high, low] = [Math.floor(address / 65536), address % 65536].map((one) => one.toString(16));
  return fc.constantFrom(
    `[::ffff:${dotted(address)}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${dotted(address)}]`,
    `[::ffff:0:${dotted(address)}]`,
    `[64:ff9b::${dotted(address)}]`,
    `[0064:FF9B:0001::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
    `[2001::${high}:${low}]`,
  );
}

/** An address of IPv6 in a range that is not public, written with eight groups. */
export const blockedIpv6 = fc
  .tuple(fc.constantFrom(...ipv6Ranges), fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }))
  .map(([range, any]) => {
    const [network = "", bits] = range.split("/");
    const base = numberOf(new URL(`https://[${network}]`).hostname.slice(1, -1));
    return groupsOf(base + (any % 2n ** BigInt(128 - Number(bits))));
  });

/** A public address of IPv6, of ranges that registries have assigned. */
export const publicIpv6 = fc
  .tuple(
    fc.constantFrom("2400::", "2600::", "2800::", "2a00::", "2c00::"),
    fc.bigInt({ min: 0n, max: 2n ** 114n - 1n }),
  )
  .map(([network, any]) => groupsOf(numberOf(network) + any));

function numberOf(compressed: string): bigint {
  const [before = "", after = ""] = compressed.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const zeros = 8 - groups(before).length - groups(after).length;
  const all = [...groups(before), ...Array.from({ length: zeros }, () => "0"), ...groups(after)];
  return all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

function groupsOf(address: bigint): string {
  const digits = address.toString(16).padStart(32, "0");
  return digits.match(/.{4}/g)?.join(":") ?? "";
}
