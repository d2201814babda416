import { Resolver } from "node:dns";
import type { LookupFunction } from "node:net";
import { isPublicAddress } from "../lib/public-address.ts";

/** Resolves a name to all its addresses. */
export type Resolve = (
  hostname: string,
  options: Parameters<LookupFunction>[1] & { all: true },
  done: (
    error: NodeJS.ErrnoException | null,
    /** Absent after an error. */
    addresses?: { address: string; family: number }[],
  ) => void,
) => void;

/** Two tries of a second and two for each kind of address, within the time limit of a connection. */
const resolver = new Resolver({ timeout: 1_000, tries: 2 });

/**
 * Resolves a name by DNS itself. `dns.lookup` holds one of Node's four threads until a name server answers, and the names
 * of providers need these: a client's slow name server would delay calls.
 */
const resolveByDns: Resolve = (hostname, _options, done) => {
  resolver.resolve4(hostname, (no4, four) => {
    resolver.resolve6(hostname, (no6, six) => {
      const addresses = [
        ...(no4 === null ? four.map((address) => ({ address, family: 4 })) : []),
        ...(no6 === null ? six.map((address) => ({ address, family: 6 })) : []),
      ];
      if (addresses.length > 0) done(null, addresses);
      else done(Object.assign(new Error("no address"), { code: "ENOTFOUND" }));
    });
  });
};

/**
 * Creates the lookup of connections that must lead to public addresses. It fails if any address of the name is another
 * one. As the connection itself looks the name up, it goes to the addresses that were checked, whatever the name resolved
 * to before or resolves to later.
 */
export function createPublicLookup(resolve: Resolve = resolveByDns): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses = []) => {
      const [first] = addresses;
      if (error !== null) done(error, "");
      else if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
        done(notPublic(), "");
      } else if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** The error of a connection that would lead to another address than a public one. */
export function notPublic(): NodeJS.ErrnoException {
  return Object.assign(new Error("no public address"), { code: "ADDRESS_NOT_PUBLIC" });
}
