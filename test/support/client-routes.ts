import document from "#functions/api/generated/served/openapi.json" with { type: "json" };

/** Routes of the API that ask for a client's token, each with a pattern of its requests, such as `GET /v1/requests?limit=1`. */
export function clientRoutes(): { route: string; pattern: RegExp }[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => Object(operation).security === undefined)
      .map(([method]) => {
        const route = `${method.toUpperCase()} ${path}`;
        const pattern = new RegExp(`^${route.replaceAll(/\{\w+\}/g, "[^/?]+")}(?:\\?|$)`);
        return { route, pattern };
      }),
  );
}
