import { operatorRoles } from "#shared/settings/tokens.ts";
import * as z from "#shared/lib/zod.ts";
import { declareRoute } from "../api/http/route.ts";

const meSchema = z.strictObject({ id: z.string(), roles: z.array(z.enum(operatorRoles)) });

const showMe = declareRoute({
  operationId: "showMe",
  summary: "The id and the roles of the token that is sent",
  method: "get",
  path: "/me",
  answer: meSchema,
  async handle({ c }) {
    const { tokenId, roles = [] } = c.get("caller");
    return { id: tokenId, roles: [...roles] };
  },
});

export const meRoutes = [showMe];
