/**
 * Returns a `fetch` that prints each request: its method, its path and its status. A query, which may hold our
 * own number, is left out, and a secret in the path is shown by its name.
 *
 * @param secrets values by name
 */
export function printedFetch(
  send: typeof fetch,
  secrets: Record<string, string>,
  print: (line: string) => void,
): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    let path = pathname;
    for (const [name, value] of Object.entries(secrets)) {
      if (value !== "") path = path.replaceAll(encodeURIComponent(value), `{${name}}`);
    }
    const line = `  ${request.method} ${path}`;
    try {
      const response = await send(input, init);
      print(`${line}  ${response.status}`);
      return response;
    } catch (error) {
      print(`${line}  no answer`);
      throw error;
    }
  };
}
