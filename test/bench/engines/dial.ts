const { PROVIDER_URL = "" } = process.env;

/** Asks the dialing provider to phone a person. The limit of 30 s is the default of our webhook, too. */
export async function dial(call: unknown): Promise<void> {
  const response = await fetch(PROVIDER_URL, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(call),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`the provider answered ${response.status}`);
}
