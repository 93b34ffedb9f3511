-- The id of a message, an order or a task: no two of them have the same. The terms come ready-made, of letters and
-- digits, so that no configuration of the server parses or stems them.
CREATE TABLE search_document (
    document_id BIGINT PRIMARY KEY,
    hotel_id BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('MAIL', 'ORDER', 'TASK')),
    at BIGINT NOT NULL,
    terms TSVECTOR NOT NULL
);
CREATE INDEX search_index ON search_document USING gin (terms);
