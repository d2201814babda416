-- What was written of each call, oldest first: a JSON array of {at, state, reason, dueAt}.
ALTER TABLE calls ADD COLUMN history TEXT NOT NULL DEFAULT '[]';
