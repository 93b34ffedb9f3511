-- One payload of a message is one batch for ever, whatever came after it.
CREATE INDEX ai_batch_payload ON ai_batch (inbox_id, payload_digest);
