-- What was written of each call, oldest first: a JSON array of {at, state, reason, dueAt, by}.
ALTER TABLE calls ADD COLUMN history TEXT NOT NULL DEFAULT '[]';
-- The call that an operator had made in its stead.
ALTER TABLE calls ADD COLUMN redialed_as TEXT;

CREATE INDEX calls_request ON calls (request_id, accepted_at, id);

-- How many calls came into each state, by hours since the epoch.
CREATE TABLE state_counts (
  hour INTEGER NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (hour, state)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER calls_counted_first AFTER INSERT ON calls WHEN new.state <> 'DIALING'
BEGIN
  INSERT INTO state_counts (hour, state, count) VALUES (new.updated_at / 3600000, new.state, 1)
  ON CONFLICT (hour, state) DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER calls_counted AFTER UPDATE OF state ON calls WHEN new.state <> old.state AND new.state <> 'DIALING'
BEGIN
  INSERT INTO state_counts (hour, state, count) VALUES (new.updated_at / 3600000, new.state, 1)
  ON CONFLICT (hour, state) DO UPDATE SET count = count + 1;
END;

-- What an operator has ordered for calls to come.
CREATE TABLE orders (
  name TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX orders_expiry ON orders (expires_at) WHERE expires_at IS NOT NULL;

-- Numbers that are never called, by their keyed hash.
CREATE TABLE do_not_call (
  number_hash TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What operators did.
CREATE TABLE operator_acts (
  at INTEGER NOT NULL,
  id TEXT NOT NULL,
  by TEXT NOT NULL,
  act TEXT NOT NULL,
  target TEXT NOT NULL,
  count INTEGER,
  PRIMARY KEY (at, id)
) STRICT, WITHOUT ROWID;
