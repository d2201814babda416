import { describeHttpApi } from "../contracts/http-api/index.ts";
import { useLambda } from "./lambda-api.ts";

describeHttpApi("Lambda", useLambda()("an HTTP API's default stage"));
