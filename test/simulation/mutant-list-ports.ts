import { mutantsOf, type Mutant } from "./mutant.ts";

const rules = ["claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);

/** Rules about rows as they are read, and about the ports' adapters. */
export const portMutants: readonly Mutant[] = [
  ...mutantsOf(
    ["test/unit/dialer/unreadable.test.ts", ...rules],
    [
      [
        "a row of a later version is not read as one of this",
        "if (data === undefined) return undefined;",
        'if (data === undefined) return { ...Object(stored), id, version, state: "WAITING", dueAt: 0, claims: [], history: [], ancestors: [], route: null };',
      ],
      [
        "fields of a later version are kept",
        "const rowSchema = z.looseObject({",
        "const rowSchema = z.object({",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/ports/memory-ledger.test.ts"],
    [
      [
        "a row is written only where it has the version that was read",
        "if (current !== seen) return false;",
        "if (current !== seen && seen !== null) return false;",
      ],
      [
        "a write that is repeated is known by its version",
        "if (current === version) return true;",
        "",
      ],
      [
        "a row that another version wrote does not look like none",
        "if (row === undefined) unreadable.add(id);",
        "if (row === undefined) continue;",
      ],
      ["what is due first comes first", "return one.dueAt - other.dueAt || (", "return ("],
      [
        "what is due comes in its order",
        ".toSorted(comparePositions);\n        list.added = [];",
        ".toSorted((a, b) => comparePositions(b, a));\n        list.added = [];",
      ],
      [
        "what waits or is under way is not purged",
        '.filter(({ state }) => states[state].purge !== "never")',
        '.filter(({ state }) => state !== "PLACED")',
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/ports/memory-documents.test.ts"],
    [
      [
        "a document is written only where it has the version that was read",
        "if (version !== seen) return false;",
        "",
      ],
      [
        "a document that has expired reads as absent",
        "return found === undefined || (found.expiresAt ?? Infinity) <= now() ? undefined : found;",
        "return found;",
      ],
      [
        "each permitAt of a pace is given to one caller",
        "put({ ...document, value: { arrivalUs }, expiresAt: paceExpiresAt(request.notAfter) });",
        "void arrivalUs;",
      ],
      [
        "counts are added up",
        "sums.set(name, (sums.get(name) ?? 0) + count);",
        "sums.set(name, count);",
      ],
    ],
  ),
];
