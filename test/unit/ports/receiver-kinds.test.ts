import { expect, it } from "vitest";
import { ownReceiverName, parseOwnReceiver } from "#shared/ports/receiver-kinds.ts";

it("names each client's own receivers apart from all others", () => {
  for (const client of ["crm", "a/b", "own:crm", "test:crm", "*", ""]) {
    const key = { client, name: "main" };
    expect(parseOwnReceiver(ownReceiverName(key))).toEqual(key);
  }
});

it("takes a receiver of the dial plan for none of a client's own", () => {
  for (const name of ["*", "crm", "crm/main", "test:crm"])
    expect(parseOwnReceiver(name)).toBeUndefined();
});
