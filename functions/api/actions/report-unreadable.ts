import type { LogFields } from "#shared/lib/log.ts";
import { withMethods } from "#shared/lib/with-methods.ts";
import type { FoundDocument, Kind } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { RowsRead } from "#shared/ports/unreadable.ts";
import type { ApiDeps } from "../http/context.ts";

/**
 * Wraps the stores of routes: an alarm counts the rows and documents of each read that only a later version can read, so that
 * no route can leave them out silently.
 */
export function reportUnreadable({
  ledger,
  documents,
  log,
}: Pick<ApiDeps, "ledger" | "documents" | "log">): Pick<ApiDeps, "ledger" | "documents"> {
  const report = (of: "row" | "document", count: number, fields: LogFields = {}) => {
    if (count > 0) log("alarm", `${of}.unreadable`, { count, ...fields });
  };
  const reportRows = <Row>(read: RowsRead<Row>): RowsRead<Row> => {
    const [call_id] = read.unreadable;
    report("row", read.unreadable.size, call_id === undefined ? {} : { call_id });
    return read;
  };
  const reportDocuments = <K extends Kind>(listed: FoundDocument<K>[]): FoundDocument<K>[] => {
    report("document", listed.filter((one) => !isReadable(one)).length);
    return listed;
  };
  return {
    ledger: withMethods(ledger, {
      read: async (ids) => reportRows(await ledger.read(ids)),
      readWithoutContext: async (ids) => reportRows(await ledger.readWithoutContext(ids)),
      async list(query) {
        const page = await ledger.list(query);
        report("row", page.unreadable, "requestId" in query ? { request_id: query.requestId } : {});
        return page;
      },
      async listOldest(query) {
        const page = await ledger.listOldest(query);
        report("row", page.unreadable);
        return page;
      },
    }),
    documents: withMethods(documents, {
      list: async (kind, query) => reportDocuments(await documents.list(kind, query)),
      listByPrefix: async (kind, query) =>
        reportDocuments(await documents.listByPrefix(kind, query)),
    }),
  };
}
