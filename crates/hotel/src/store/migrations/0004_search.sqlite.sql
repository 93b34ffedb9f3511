-- The id of a message, an order or a task: no two of them have the same. An INTEGER key is the rowid, as which the
-- index knows it.
CREATE TABLE search_document (
    document_id INTEGER PRIMARY KEY,
    hotel_id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('MAIL', 'ORDER', 'TASK')),
    at BIGINT NOT NULL
);

-- The terms come ready-made, of letters and digits; `ascii` takes them as they are. Only which document has which term
-- is kept, not where.
CREATE VIRTUAL TABLE search_index USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);
