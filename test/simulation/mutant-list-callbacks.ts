import { mutantsOf } from "./mutant.ts";

/** Rules about callbacks: whose they are, how old they may be, and who has signed them. */
export const callbackMutants = [
  ...mutantsOf(
    ["test/unit/dialer/signed-callbacks.test.ts"],
    [
      [
        "a signed result is written again where another write came first",
        'if (await writeResults(results, deps.clock.now(), deps)) return "ack";',
        'await writeResults(results, deps.clock.now(), deps);\n    return "ack";',
      ],
      [
        "a signed result of another claim is dropped",
        'if (call !== undefined && named?.claims.includes(call.claim) !== true) return "ack";',
        "",
      ],
      [
        "a signed callback of one account settles no other account's call",
        'if (row === undefined || row.route?.provider !== account) return "ack"; const claim = call?.claim',
        'if (row === undefined) return "ack"; const claim = call?.claim',
      ],
      [
        "a signed callback is verified by the route of its call",
        "const route = named?.route ?? ofAccount;",
        "const route = ofAccount;",
      ],
      [
        "a callback that the API has verified is not lost while its secret is replaced",
        'isRenewing && route?.type === "webhook" ? { retryAfterSeconds: verifyAgainSeconds } : "ack"',
        '"ack"',
      ],
      [
        "a callback that never verifies is dropped",
        "(signed?.receivedAt ?? 0) < secretsMsMax",
        "(signed?.receivedAt ?? 0) < Infinity",
      ],
      [
        "a signed body tells of the attempt that it names",
        "return call?.attempt === attempt ? claims.at(-1) : undefined;",
        "return claims.at(-1);",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/providers/signed-results.test.ts"],
    [
      [
        "a webhook's signed result is of the call of its address",
        'const isOfCall = callId !== undefined && headers["webhook-id"]?.startsWith(callId) === true;',
        "const isOfCall = true;",
      ],
      [
        "a webhook's signed result is of these minutes",
        "if (Math.abs(receivedAt / 1000 - Number(timestamp)) > ageSecondsMax) return wrongTimestamp;",
        "",
      ],
      [
        "a webhook's signed result is not of the future",
        "Math.abs(receivedAt / 1000 - Number(timestamp)) > ageSecondsMax",
        "receivedAt / 1000 - Number(timestamp) > ageSecondsMax",
      ],
      [
        "a webhook's signature is compared",
        'version === "v1" && given.length === right.length && timingSafeEqual(given, right)',
        'version === "v1" && given.length === right.length',
      ],
      [
        "a callback without a secret is taken for a call to this machine alone",
        'if (key === undefined && !isLoopback(url)) return { kind: "unverified" };',
        "",
      ],
      [
        "a callback is verified by the secret of its own account",
        "const key = keys.get(provider) ?? keyFor(provider);",
        'const key = keyFor("webhook");',
      ],
      [
        "a call does not end before its answer",
        "...(endedAt < answeredAt",
        "...(endedAt < answeredAt - 1000",
      ],
      [
        "a call does not end in the future",
        "...(endedAt > latest",
        "...(endedAt > latest + aheadMsMax",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/lib/standard-webhooks.test.ts"],
    [
      [
        "a signature is of the message's id",
        "update(`${id}.${timestamp}.${body}`)",
        "update(`${timestamp}.${body}`)",
      ],
      [
        "a signature is of the version that is known",
        'version === "v1" && given.length',
        "version !== undefined && given.length",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/dialer/provider-callbacks.test.ts"],
    [
      [
        "a callback of one account has no other account's call looked up",
        'if (row === undefined || row.route?.provider !== account) return "ack"; if (call',
        'if (row === undefined) return "ack"; if (call',
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/api/http-api.test.ts"],
    [
      [
        "the door verifies a webhook's callback",
        'const isJudged = type === "webhook";',
        "const isJudged = false;",
      ],
      [
        "the door verifies by the secret of the account",
        "key = settings.callbackKeyOf(account);",
        "key = undefined;",
      ],
      [
        "the door verifies for the call of the address",
        "readWebhookCallback(signed, key, call?.id)",
        'readWebhookCallback(signed, key, signed.headers["webhook-id"])',
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/api/callbacks.test.ts"],
    [
      [
        "the code of a callback's address is compared",
        "return given.length === right.length && timingSafeEqual(given, right);",
        "return given.length === right.length;",
      ],
      [
        "the door takes no callback with a wrong code",
        "if (address === undefined || !isRight(address)) return c.body(null, 404);",
        "if (address === undefined) return c.body(null, 404);",
      ],
      [
        "a callback need not be signed where all routes of its account lead to this machine alone",
        "routes.every((one) => listSecrets(one, false).length === 0)",
        "routes.some((one) => listSecrets(one, false).length === 0)",
      ],
      [
        "a callback of an account without routes is signed",
        "routes.length > 0 && routes.every",
        "routes.every",
      ],
      [
        "the code of a callback's address is of one account",
        'JSON.stringify(["callback", ...partsOf(subject)])',
        'JSON.stringify(["callback", ...partsOf(subject).slice(1)])',
      ],
      [
        "the code of a callback's address is of one claim",
        'JSON.stringify(["callback", ...partsOf(subject)])',
        'JSON.stringify(["callback", ...partsOf(subject).slice(0, 2)])',
      ],
      [
        "a callback that the queue did not take is answered 503",
        'return retry("The queue did not take the callback.");',
        "return c.body(null, 204);",
      ],
      [
        "a resend carries the callback's address of the first request",
        "const call = { id: row.id, claim: row.claims[0] ?? version };",
        "const call = { id: row.id, claim };",
      ],
    ],
  ),
];
