import { mutantsOf } from "./mutant.ts";

const rotation = ["test/unit/dialer/hash-key-rotation.test.ts"];

/** Rules of HASH_KEY while it is rotated. */
export const hashKeyMutants = [
  ...mutantsOf(rotation, [
    [
      "the do-not-call list is looked at under the former key too",
      "return hashes.some(\n    (hash) => isListed(hash)",
      "return hashes.slice(0, 1).some(\n    (hash) => isListed(hash)",
    ],
    [
      "who lacks a key of an entry dials nobody",
      "return listIn(documents)?.keys.some((name) => !held.includes(name)) ?? false;",
      "return held.length === 0;",
    ],
    [
      "the list names a key before it has an entry of it",
      "if (unnamed.length === 0 && isSaid) return undefined;",
      "if (keys.length >= 0 || isSaid) return undefined;",
    ],
    [
      "a sweep names the former key",
      "[...list.keys, ...held]",
      "[...list.keys, name, ...held.slice(2)]",
    ],
    [
      "callback URLs are under the former key while a process may lack the current one",
      "clock.now() >= since + keyReadMs ? current : former",
      "clock.now() >= since ? current : former",
    ],
    [
      "a sweep names no third key",
      "if (isNoted || list.keys.some((one) => !held.includes(one))) return undefined;",
      "if (isNoted) return undefined;",
    ],
    [
      "a sweep names the current key",
      "if (hashKeys.former === undefined) return;\n  const name",
      "if (hashKeys !== undefined) return;\n  const name",
    ],
    [
      "an entry moves only once it has stood under both keys for a minute",
      "(entryOf(current)?.value.at ?? Infinity) <= until",
      "(entryOf(current)?.value.at ?? Infinity) <= until + stoodMsMin",
    ],
    [
      "an entry moves only once the other stands",
      "(entryOf(current)?.value.at ?? Infinity) <= until",
      "(entryOf(current)?.value.at ?? 0) <= until",
    ],
    [
      "an entry that stops a call moves",
      "listed.length > 0 ? renewEntries(listed, plan.read, deps) : undefined,",
      "undefined,",
    ],
    [
      "a number is removed under both keys",
      "remove.flatMap((number) => hashesOf(number, hashKeys));",
      "remove.flatMap((number) => hashesOf(number, hashKeys).slice(0, 1));",
    ],
    [
      "a list that is renewed keeps the keys that are held",
      "keys: list.keys.filter((name) => held.includes(name)) }),",
      "keys: list.keys.filter((name) => name === held[0]) }),",
    ],
    [
      "an opt-out whose row's key only others may know waits for them",
      'if (acceptedAt > clock.now() - youngMs) throw new Error("the row is of another HASH_KEY");',
      "void [acceptedAt, clock, youngMs];",
    ],
    [
      "an opt-out of a row whose key is gone stops nobody",
      'log("alarm", "call.opt_out_lost", { call_id: id });\n    return;',
      'log("alarm", "call.opt_out_lost", { call_id: id });',
    ],
    [
      "an opt-out is listed by its row's hash once the number is erased",
      "await putEntries([numberHash], deps);",
      'await putEntries([numberHash.replace(/^.{8}/, namesOf(hashKeys)[0] ?? "")], deps);',
    ],
    [
      "the former key does not end while an entry of it stands",
      "if (first === undefined || keyNameIn(first.key) !== keyName) return undefined;",
      "if (first !== undefined || keyNameIn(keyName) === keyName) return undefined;",
    ],
    [
      "the former key does not end while rows may be hashed under it",
      "if (clock.now() >= until) return undefined;",
      "if (clock.now() >= until - dayMs) return undefined;",
    ],
    [
      "the former key does not end before it is known since when it is that",
      'if (since === undefined) {\n    return "The dialer',
      'if (since === undefined) return undefined;\n  if (since < 0) {\n    return "The dialer',
    ],
  ]),
  ...mutantsOf(
    ["test/unit/dialer/hash-key-caps.test.ts"],
    [
      [
        "calls that were counted under the former key count",
        "unite(current), counted,",
        "unite(current.slice(-1)), counted,",
      ],
      [
        "a call is counted under both keys",
        "const current = seen[index];\n        const cap",
        "if (index < keys.length - 1) continue;\n        const current = seen[index];\n        const cap",
      ],
      [
        "a call is counted only where every write of it stands",
        "if ((await documents.write([change]))[0] !== true) return false;",
        "await documents.write([change]);",
      ],
      [
        "a call that was not placed leaves its caps under both keys",
        "if (await writeAll(keys, others, current)) return;",
        "if (await writeAll(keys.slice(-1), others, current.slice(-1))) return;",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/api/hash-key-rotation.test.ts"],
    [
      [
        "callbacks come under the former key too",
        "const codes = listKeys(hashKeys).map(codesUnder);",
        "const codes = listKeys(hashKeys).slice(0, 1).map(codesUnder);",
      ],
      [
        "calls to a number are listed in one order under both keys",
        "next === undefined || id >= next",
        "next === undefined || id !== next || next === id",
      ],
      ["HASH_KEY is not the same key twice", 'text.toLowerCase().split(" ")', 'text.split(" ")'],
    ],
  ),
  ...mutantsOf(
    ["test/unit/dialer/look-up.test.ts"],
    [
      [
        "a call is looked for by its number under both keys",
        "if (!hashes.includes(numberHash)) return undefined;",
        "if (hashes[0] !== numberHash) return undefined;",
      ],
      [
        "a call under the other key is a rival for a record found by number",
        "hashes.map((hash) => ledger.list({ numberHash: hash, limit: callsToNumberMax })),",
        "[numberHash].map((hash) => ledger.list({ numberHash: hash, limit: callsToNumberMax })),",
      ],
    ],
  ),
];
