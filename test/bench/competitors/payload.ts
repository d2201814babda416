/** One call as a client would post it, the same for every side. */
export function callRequest(n: number) {
  return {
    phone_number: `+1${2 + (n % 8)}12${2 + (n % 8)}${String(n % 1_000_000).padStart(6, "0")}`,
    agent_id: "agent_sales",
    context: {
      first_name: "Zoë",
      account: `A-${String(n).padStart(8, "0")}`,
      appointment: "2026-11-24T10:30",
      reason: "Confirm the delivery of your order and the hour that suits you.",
    },
    timezone: "America/New_York",
  };
}
