import { mutantsOf } from "./mutant.ts";

const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);
const withheld = 'if (mayLeave?.() === false) request.destroy(new Withheld("not any more"));';

/** Rules of the last look, right before the phone rings. */
export const lastLookMutants = [
  ...mutantsOf(unit("last-look"), [
    [
      "orders are looked at again before the phone rings",
      "if (now !== read) refused = checkControls(claim, now, deps);",
      "void now;",
    ],
    [
      "a call whose orders cannot be read is withheld",
      'refused = toWaiting("not_checked", claim);',
      "refused = undefined;",
    ],
    [
      "the clock is looked at again before the phone rings",
      "return refused ?? checkClock(claim, { laterMs }, deps);",
      "return refused;",
    ],
    [
      "the clock is looked at when the connection stands",
      "const mayLeave = () => {",
      "const mayLeave = () => {\n          if (url !== undefined) return true;",
    ],
    [
      "a later request of an adapter may leave later",
      "const laterMs = (timeoutSeconds - secondsMax) * 1000;",
      "const laterMs = secondsMax * 0;",
    ],
    [
      "a later request of an adapter must be able to end before the claim lapses",
      "const laterMs = (timeoutSeconds - secondsMax) * 1000;",
      "const laterMs = timeoutSeconds * 1000 + 0 * secondsMax;",
    ],
    ["what has expired is not dialed", "if (now >= expiresAt) return ended;", "void ended;"],
    [
      "what was withheld was surely not placed",
      "if (error instanceof Withheld) return undefined;",
      "",
    ],
    [
      "what was withheld is settled as the last look says",
      "if (outcome === undefined) return { refused: lastLook.refused(), counted: true };",
      'if (outcome === undefined) return { refused: { state: "WAITING", reason: "claim_too_old", dueAt: claim.dial.dialAt }, counted: true };',
    ],
    [
      "the do-not-call list is looked at by today's HASH_KEY",
      "if (isOnDoNotCallList({ hashes, client: call.client }, read, hashKeys)) {",
      "if (isOnDoNotCallList({ hashes: [claim.row.numberHash], client: call.client }, read, hashKeys)) {",
    ],
    [
      "calls to a number are counted by today's HASH_KEY",
      "hashesOf(hashedNumberOf(call), settings.hashKeys).toReversed();",
      "[request.phone_number.slice(0, 1)];\n  void hashesOf;",
    ],
  ]),
  ...mutantsOf(
    ["test/unit/aws/node-client.test.ts"],
    [
      [
        "nothing leaves after a process stood still as it connected",
        withheld,
        'if (mayLeave?.() === null) request.destroy(new Withheld("not any more"));',
      ],
      [
        "nothing leaves before the connection stands",
        "const limit = setTimeout(",
        "request.end(body);\n    const limit = setTimeout(",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/providers/livekit.test.ts"],
    [
      [
        "a request that was withheld is no outcome",
        "if (error instanceof Withheld) throw error;",
        "",
      ],
      [
        "the request of LiveKit by which the phone rings goes through the last look",
        "ring(fetch, seconds.call),",
        "fetch,",
      ],
    ],
  ),
];
