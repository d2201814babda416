import dialPlan from "#infra/dial-plan.json" with { type: "json" };

/** The plan of the file with a webhook of one's own, as the hosts of examples are not deployed. */
export const deployedPlan = {
  ...dialPlan,
  agents: { "*": { provider: "webhook", url: "https://dialer.internal/dial" } },
};
