import { expect, it } from "vitest";
import { clientReceiverName, parseClientReceiver } from "#shared/ports/receiver-kinds.ts";

it("names each client's own receivers apart from all others", () => {
  for (const client of ["crm", "a/b", "own:crm", "test:crm", "*", ""]) {
    const key = { client, name: "main" };
    expect(parseClientReceiver(clientReceiverName(key))).toEqual(key);
  }
});

it("takes a receiver of the dial plan for none of a client's own", () => {
  for (const name of ["*", "crm", "crm/main", "test:crm"])
    expect(parseClientReceiver(name)).toBeUndefined();
});
