-- When a call was last claimed, and all calls to a number: what a look-up of an unknown outcome compares.
ALTER TABLE calls ADD COLUMN claimed_at INTEGER;

CREATE INDEX calls_number ON calls (number_hash, accepted_at, id);

-- About when, for calls that were claimed before that was kept.
UPDATE calls SET claimed_at = updated_at WHERE token IS NOT NULL;
