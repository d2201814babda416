import { pack } from "#shared/ports/packed.ts";

/** Packs an object as the tables of calls store it, in hexadecimal digits for `unhex(?)`. */
export const packedHex = (value: object) => Buffer.from(pack(value)).toString("hex");
