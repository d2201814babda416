-- Calls that wait for an account's pace stand in its line: out of the list of what is due, each in its place.
ALTER TABLE calls ADD COLUMN line TEXT;

DROP INDEX calls_due;
CREATE INDEX calls_due ON calls (line, due_at, id) WHERE due_at IS NOT NULL;

-- How far ahead each account's slots are given out: the theoretical arrival time of its next call, in microseconds.
CREATE TABLE paces (
  account TEXT PRIMARY KEY,
  arrival_us INTEGER NOT NULL,
  granted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calls to a number that its frequency caps count, by the number's keyed hash.
CREATE TABLE counted_calls (
  number_hash TEXT NOT NULL,
  call_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (number_hash, call_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX counted_calls_at ON counted_calls (at);

-- When the last sweep was: one row.
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
) STRICT;
