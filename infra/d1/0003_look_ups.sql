-- When a call was last claimed, and all calls to a number: what a look-up of an unknown outcome compares.
ALTER TABLE calls ADD COLUMN claimed_at INTEGER;

CREATE INDEX calls_number ON calls (number_hash, accepted_at, id);
