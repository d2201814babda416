import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { useLambda } from "./lambda-api.ts";

const behind = useLambda();
const createApi = behind("an HTTP API's default stage");

describeHttpApi("Lambda", createApi);
// In the same file: a worker keeps its modules, and the function's module keeps the engines of the file that loaded it.
describeFuzz("Lambda", createApi, { runs: 8 });
