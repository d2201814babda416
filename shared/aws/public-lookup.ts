import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { isPublicAddress } from "../lib/public-address.ts";

/** Resolves a name to all its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: Parameters<LookupFunction>[1] & { all: true },
  done: (
    error: NodeJS.ErrnoException | null,
    /** Absent after an error. */
    addresses?: { address: string; family: number }[],
  ) => void,
) => void;

/**
 * Creates the lookup of connections that must lead to public addresses. It fails if any address of the name is another
 * one. As the connection itself looks the name up, it goes to the addresses that were checked, whatever the name resolved
 * to before or resolves to later.
 */
export function createPublicLookup(resolve: Resolve = lookup): LookupFunction {
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
