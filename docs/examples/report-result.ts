import { createHmac } from "node:crypto";

/** Reports the result of a webhook's call to its `callback_url`, signed with the webhook's secret. */
export async function reportResult(
  call: { id: string; callback_url: string },
  secret: string,
  result: { status: string },
) {
  const { id, callback_url } = call;
  const timestamp = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify(result);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
  return fetch(callback_url, { method: "POST", headers, body });
}
