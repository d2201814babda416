import { describe, expect, it } from "vitest";
import { answerCodes, findAnswerMeaning } from "#shared/calls/answer-codes.ts";
import { findMeaning } from "#shared/rules/texts.ts";
import { providerAnswers } from "#test/support/provider-answers/index.ts";

describe("the meaning of a provider's answer", () => {
  it("is one sentence for each code, in their order, and no code is a reason of ours", () => {
    for (const sentence of Object.values(answerCodes)) expect(sentence).toMatch(/^[A-Z][^.]*\.$/);
    expect(Object.keys(answerCodes)).toEqual(Object.keys(answerCodes).toSorted());
    expect(Object.keys(answerCodes).filter((code) => findMeaning(code) !== undefined)).toEqual([]);
  });

  it("is found by the code's form", () => {
    expect(findAnswerMeaning("http_403")).toContain("whether it means the account or the call");
    expect(findAnswerMeaning("http_503")).toBe(
      "The provider failed with the status 503: the call may have been placed.",
    );
    expect(findAnswerMeaning("sip_486")).toContain("SIP status 486");
    expect(findAnswerMeaning("econnrefused")).toContain("could not connect");
    expect(findAnswerMeaning("twilio_21211")).toBeUndefined();
    expect(findAnswerMeaning("constructor")).toBeUndefined();
  });

  it("never says that nobody was called where the call may have been placed", () => {
    const codes = providerAnswers.flatMap(({ outcome }) =>
      outcome.kind === "unknown" || outcome.kind === "forbidden" ? [outcome.code] : [],
    );
    expect(codes.length).toBeGreaterThan(10);
    const untrue = codes.filter((code) => findAnswerMeaning(code)?.includes("nobody was called"));
    expect(untrue).toEqual([]);
  });
});
