import { mutantsOf, type Mutant } from "./mutant.ts";

/** Rules by which no test call reaches a real provider, and no real call the sandbox. */
export const sandboxMutants: readonly Mutant[] = [
  ...mutantsOf(
    ["test/unit/dialer/test-calls.test.ts"],
    [
      [
        "a test client's calls go along the sandbox's route",
        "const route = own && isTestClient(client) ? toSandboxRoute(client, own) : own;",
        "const route = own;",
      ],
      [
        "a claim is refused that would take a test call out of the sandbox",
        "if (isTestClient(before.client) !== (along.type === sandboxType)) {",
        "if (along.type === sandboxType && !isTestClient(before.client)) {",
      ],
      [
        "an older version cannot read a test call's row before its claim",
        "route: isTestClient(call.client) ? toSandboxRoute(call.client) : null,",
        "route: null,",
      ],
      [
        "an older dialer cannot read a message about test calls",
        "data === undefined ? message : { ...data, kind: testPrefix + data.kind }",
        "data ?? message",
      ],
      [
        "an older dialer cannot read a request of test calls",
        'const kind = `${isTestClient(client) ? testPrefix : ""}request`;',
        'const kind = "request";',
      ],
      [
        "an older dispatcher gives test calls no turn",
        "if (isTestClient(client)) return isUrgent ? urgentTestLevel : testLevel;",
        "",
      ],
      [
        "a test call's number counts for its client's tests alone",
        "isTestClient(client) ? `${client} ${request.phone_number}` : request.phone_number",
        "request.phone_number",
      ],
      [
        "no plan names the sandbox",
        "z.refine((name) => name !== sandboxType,",
        "z.refine(() => true,",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/api/test-calls.test.ts"],
    [
      [
        "a test token calls the sandbox's numbers alone",
        "if (isTestClient(client) && !isTestNumber(request.phone_number)) {",
        "if (request.phone_number === client) {",
      ],
    ],
  ),
];
