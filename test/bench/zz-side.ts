import { callRequest } from "./competitors/payload.ts";
import { cpuOf } from "./measure.ts";
import { benchToken, createBenchApi, createNullQueue } from "./our-api.ts";
const app = createBenchApi(createNullQueue());
const headersOf = (body: Buffer) => ({ authorization: `Bearer ${benchToken}`, "content-type": "application/json", "content-length": String(body.length) });
const lone = Array.from({ length: 100 }, (_, n) => Buffer.from(JSON.stringify(callRequest(n))));
const batch = Buffer.from(JSON.stringify(Array.from({ length: 5000 }, (_, n) => callRequest(n))));
async function post(path: string, body: Buffer) {
  const { status } = await app.request(`http://localhost${path}`, { method: "POST", headers: headersOf(body), body });
  if (status !== 201) throw new Error(String(status));
}
process.on("message", async ({ ask }: { ask: string }) => {
  const cpuUs = await cpuOf(async () => {
    if (ask === "lone") for (let n = 0; n < 2000; n++) await post("/v1/calls", lone[n % 100]!);
    else for (let n = 0; n < 4; n++) await post("/v1/calls/batch", batch);
  });
  process.send!({ cpuUs: cpuUs / (ask === "lone" ? 2000 : 20000) });
});
process.on("disconnect", () => process.exit());
process.send!({});
