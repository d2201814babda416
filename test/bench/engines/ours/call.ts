/** Has a call placed. Returns its id, or undefined where it was not accepted. */
export async function place(address: string, token: string, call: object) {
  const response = await fetch(`${address}/v1/calls`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(call),
  });
  if (response.status !== 201) return undefined;
  return `call_${response.headers.get("x-request-id")}_00000`;
}
