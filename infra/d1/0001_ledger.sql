-- The ledger: the home of every call the dialer has seen. Times are milliseconds since the epoch.
-- WITHOUT ROWID: a write of a row is billed as one row instead of two.
CREATE TABLE calls (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  token TEXT,
  attempt INTEGER NOT NULL,
  resent INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  unknown_since INTEGER,
  call TEXT,
  route TEXT,
  provider_call_id TEXT,
  request_id TEXT NOT NULL,
  client TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  number_hash TEXT NOT NULL,
  number_tail TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX calls_due ON calls (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX calls_state ON calls (state, accepted_at, id);
CREATE INDEX calls_ended ON calls (updated_at) WHERE state NOT IN ('DEFERRED', 'DIALING');

CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  seed TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

CREATE TABLE holds (
  name TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  count INTEGER NOT NULL,
  probe_at INTEGER
) STRICT, WITHOUT ROWID;
