/**
 * The answers of the API, by the types that `npm run client` generates from its OpenAPI documents. The operator's page, the
 * command line and the MCP server know the API by these types alone, and import none of its modules.
 */
import type { operations as ClientOperations } from "#infra/client/generated/openapi.ts";
import type { components, operations } from "./generated/operator-openapi.ts";

/** The JSON of an operation's answer. */
type AnswerIn<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses]: Status extends 200 | 201 | 202
        ? Responses[Status] extends { content: { "application/json": infer Body } }
          ? Body
          : never
        : never;
    }[keyof Responses]
  : never;
/** The answer of an operator's route. Its page and its command name a type of their own by it, unless others share the type. */
export type AnswerOf<Name extends keyof operations> = AnswerIn<operations[Name]>;
type ClientAnswerOf<Name extends keyof ClientOperations> = AnswerIn<ClientOperations[Name]>;
type Schemas = components["schemas"];

// Answers of operators' routes.
export type AccountNow = Why["accounts"][number];
export type AccountForecast = Forecast["accounts"][number];
export type Audit = AnswerOf<"listAudit">;
export type Backlogs = AnswerOf<"listBacklogs">;
export type BacklogView = Schemas["Backlog"];
export type Bulk = AnswerOf<"actInBulk">;
export type BulkAction = NonNullable<
  operations["actInBulk"]["requestBody"]
>["content"]["application/json"]["action"];
export type CallDetail = Schemas["CallWithHistory"];
export type CallsPage = AnswerOf<"listCalls">;
export type CallView = Schemas["Call"];
export type ListedCall = Schemas["ListedCall"];
export type CampaignDetail = AnswerOf<"showCampaign">;
export type Campaigns = AnswerOf<"listCampaigns">;
export type Cancelled = AnswerOf<"cancelCalls">;
export type Clients = AnswerOf<"listClients">;
export type Counts = AnswerOf<"countCalls">;
export type ErasedAnswer = AnswerOf<"eraseNumber">;
export type Events = AnswerOf<"listEvents">;
export type Exhausted = Schemas["ExhaustedEvents"];
export type Forecast = Schemas["Forecast"];
export type ForecastItem = NonNullable<Forecast["items"]>[number];
export type ForecastSummary = Schemas["ForecastSummary"];
export type FoundFile = AnswerOf<"findSentFileOfClient">;
export type Found = Searched["found"][number];
export type HolderView = Why["holders"][number];
export type ListedNumbers = AnswerOf<"findListedNumbers">;
export type MadeTokenAnswer = AnswerOf<"makeToken">;
export type Me = AnswerOf<"showMe">;
export type Need = Schemas["Need"];
export type Needs = AnswerOf<"listNeeds">;
export type NumberChecked = AnswerOf<"checkDoNotCall">;
export type Outcome = ForecastItem["outcome"];
export type Paused = AnswerOf<"pause">;
export type Pauses = AnswerOf<"listPauses">;
export type PauseView = Pauses["pauses"][number];
export type PlanTexts = Schemas["PlanTexts"];
export type PutClient = AnswerOf<"putClient">;
export type ClientReceiversAnswer = AnswerOf<"listClientReceivers">;
export type PutReceiver = AnswerOf<"putClientReceiver">;
export type Redialed = Schemas["Redialed"];
export type Replayed = AnswerOf<"replayEvents">;
export type RequestDetail = Schemas["OperatorRequestWithBars"];
export type Requests = AnswerOf<"listRequests">;
export type RequestView = Schemas["OperatorRequest"];
export type Results = AnswerOf<"listResults">;
export type Resumed = AnswerOf<"resume">;
export type Revealed = Schemas["Revealed"];
export type ReviewPage = AnswerOf<"listReviews">;
export type Searched = AnswerOf<"search">;
export type Senders = AnswerOf<"listSenders">;
export type SentFileView = AnswerOf<"startSentFileOfClient">;
export type SentPartView = AnswerOf<"markSentPartOfClient">;
export type Tokens = AnswerOf<"listTokens">;
export type TokenView = Schemas["Token"];
export type Splits = AnswerOf<"listSplits">;
export type SplitView = Splits["splits"][number];
export type UsageAnswer = AnswerOf<"showOperatorUsage">;
export type Why = AnswerOf<"explainWaiting">;

// Answers of clients' routes.
export type ClientMe = ClientAnswerOf<"showToken">;
