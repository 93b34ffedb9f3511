-- What a move did besides the status, as a JSON object: the values that a person set in the place of the agent's, or
-- who has the task now.
ALTER TABLE task_move ADD COLUMN detail TEXT;
CREATE INDEX task_assignee ON task (hotel_id, assignee, status) WHERE assignee IS NOT NULL;
