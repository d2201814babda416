import { describeHttpApi } from "../contracts/http-api/index.ts";
import { useLambda } from "./lambda-api.ts";

const behind = useLambda();
const createApi = behind("an HTTP API's default stage");

describeHttpApi("Lambda", createApi);
