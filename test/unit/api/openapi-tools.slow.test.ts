import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import publicJson from "#functions/api/generated/served/openapi.json" with { type: "json" };
import operatorJson from "#functions/api/generated/served/operator-openapi.json" with { type: "json" };

const documents = { public: publicJson, operator: operatorJson };

describe("the OpenAPI documents", () => {
  it.each(["public", "operator"] as const)(
    "of the %s endpoints have nothing for a linter to say",
    async (name) => {
      const config = await createConfig({ extends: ["recommended-strict"] });
      const source = JSON.stringify(documents[name]);
      const problems = await lintFromString({ source, config });
      expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
    },
  );
});
