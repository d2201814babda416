-- The ledger and its documents. Times are milliseconds since the epoch.
--
-- Both tables are WITHOUT ROWID, because a text primary key of an ordinary table is an index of its own: D1 would bill
-- each new row as two. Every index on a column that a write changes is one more row written.

-- One row for every call that waits or was tried. What is searched has a column (shared/cloudflare/d1-rows.ts), so SQL
-- finds a call by its columns alone. Everything else is packed, as a row of more than some 1,000 bytes takes a page of
-- its own. The columns stand ahead of it, and the context behind it, so that a search reads neither.
CREATE TABLE calls (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  -- Written once, as a call's number never changes: SQLite writes the entry of an index again whenever its column is set,
  -- and D1 bills it.
  number_hash BLOB NOT NULL,
  -- Written once, too, and only in rows that stand for their request in a list (requestListsOf in shared/ports/ledger.ts):
  -- a batch has one for each of its agents.
  client TEXT,
  campaign TEXT,
  agent_id TEXT,
  state TEXT NOT NULL,
  lane TEXT,
  due_at INTEGER,
  deliver_to TEXT,
  deliver_at INTEGER,
  client_receiver_to TEXT,
  client_receiver_at INTEGER,
  accepted_at INTEGER NOT NULL,
  -- The rest of the row, and its call's context, packed by shared/ports/packed.ts.
  row BLOB NOT NULL,
  context BLOB
) WITHOUT ROWID;

-- Rows that wait or are watched, each lane in the order in which it is called up. A call leaves the index once it
-- is settled.
CREATE INDEX calls_due ON calls (lane, due_at, id) WHERE lane IS NOT NULL;

-- Rows with events that are to be delivered, or whose tries are used up. Without a receiver there is no entry.
CREATE INDEX calls_events ON calls (deliver_to, deliver_at, id) WHERE deliver_to IS NOT NULL;

-- Rows with events for clients' own receivers. Where there are none there is no entry.
CREATE INDEX calls_client_receiver_events ON calls (client_receiver_to, client_receiver_at, id) WHERE client_receiver_to IS NOT NULL;

-- All calls to a number. Only the first write of a call pays for it.
CREATE INDEX calls_number ON calls (number_hash, id);

-- The requests of a client, of a client's campaign, of a campaign, and those with calls of an agent. Only the first
-- write of such a row pays for them.
CREATE INDEX calls_client ON calls (client, id) WHERE client IS NOT NULL;
CREATE INDEX calls_client_campaign ON calls (client, campaign, id) WHERE campaign IS NOT NULL;
CREATE INDEX calls_campaign ON calls (campaign, id) WHERE campaign IS NOT NULL;
CREATE INDEX calls_agent ON calls (agent_id, id) WHERE agent_id IS NOT NULL;

-- Rows in the states that operators look after. Rows of other states are listed by the primary key, which sorts by time: most
-- of them are PLACED, and a settlement would pay for the index.
CREATE INDEX calls_attention ON calls (state, id)
  WHERE state IN ('UNKNOWN', 'NEEDS_REVIEW', 'REJECTED', 'EXPIRED');

-- All small data other than calls (shared/ports/document-kinds.ts). `value` is JSON. There is no index on `expires_at`:
-- it would double the price of every idempotency key, and an hourly scan deletes what has expired.
CREATE TABLE documents (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  -- NULL: the document never expires.
  expires_at INTEGER,
  value TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
