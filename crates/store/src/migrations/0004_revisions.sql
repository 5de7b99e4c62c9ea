-- What changed since somebody looked: each write of a row gets the next number of its session, and each row that is
-- taken away counts. Others can follow a session by these alone.

ALTER TABLE session ADD COLUMN removals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
ALTER TABLE part ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;

CREATE INDEX message_by_rev ON message (session_id, rev);
CREATE INDEX part_by_rev ON part (session_id, rev);
