-- What each agent means to do: the whole list as protocol spells it. It is replaced as a whole.

CREATE TABLE todo (
    session_id TEXT NOT NULL PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    data       TEXT NOT NULL
) STRICT;
