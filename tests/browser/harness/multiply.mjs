// A large hotel made of a small one: copies of its mails and tasks, written past the program, which would take minutes.

import { DatabaseSync } from "node:sqlite";

/** Ids of each copy: its mail, and after it conversation, batch, task and order. */
const IDS = 10;

/**
 * Copies the mails of the SQLite file until there are `mails` more, three to a conversation, and the tasks until there
 * are `tasks` more, each beside a mail of its own. A column that is not named here is copied as it is.
 */
export function multiply(file, mails, tasks) {
  const database = new DatabaseSync(file);
  const { next_id: first } = database.prepare("SELECT next_id FROM id_block").get();
  const every = Math.floor(mails / tasks);
  const now = Date.now();
  database.exec(`
    BEGIN;
    CREATE TEMP TABLE number AS
      WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n + 1 < ${mails}) SELECT n FROM counted;
    CREATE TEMP TABLE mail_copy AS SELECT n AS copy_n, ${first} + ${IDS} * n AS copy_id, model.* FROM number JOIN
      (SELECT inbox_id, conversation_id, row_number() OVER (ORDER BY inbox_id) - 1 AS place FROM platform_source_message_inbox) AS model
      ON model.place = n % (SELECT COUNT(*) FROM platform_source_message_inbox);
    CREATE TEMP TABLE task_copy AS SELECT n AS copy_n, ${first} + ${IDS} * n AS copy_id, model.* FROM number JOIN
      (SELECT task_id, batch_id, order_id, row_number() OVER (ORDER BY task_id) - 1 AS place FROM task) AS model
      ON n % ${every} = 0 AND n / ${every} < ${tasks} AND model.place = n / ${every} % (SELECT COUNT(*) FROM task);
    ${copies("conversation", "mail_copy", "conversation_id", "copy_n % 3 = 0", `
      conversation_id = copy_id + 1, external_conversation_id = 'copy-' || copy_n`)}
    ${copies("platform_source_message_inbox", "mail_copy", "inbox_id", "TRUE", `
      inbox_id = copy_id, conversation_id = copy_id - ${IDS} * (copy_n % 3) + 1,
      external_message_id = 'copy-' || copy_n, bare_message_id = 'copy-' || copy_n, subject = subject || ' ' || copy_n,
      agency = 'agency-' || copy_n % 40 || '.example', received_at = ${now} - 60000 * copy_n, created_at = ${now} - 60000 * copy_n`)}
    ${copies("ai_batch", "task_copy", "batch_id", "TRUE", "batch_id = copy_id + 2, inbox_id = copy_id")}
    ${copies("hotel_order", "task_copy", "order_id", "TRUE", `
      order_id = copy_id + 4, created_inbox_id = copy_id, confirmation_number = 'CN-' || copy_n`)}
    ${copies("task", "task_copy", "task_id", "TRUE", `
      task_id = copy_id + 3, batch_id = copy_id + 2, inbox_id = copy_id,
      order_id = CASE WHEN order_id IS NULL THEN NULL ELSE copy_id + 4 END,
      status = CASE copy_n / ${every} % 10 WHEN 0 THEN 'PENDING_MANUAL_REVIEW' WHEN 1 THEN 'CONFIRMED' WHEN 2 THEN 'DONE'
        WHEN 3 THEN 'REJECTED' WHEN 4 THEN 'IN_PROGRESS' ELSE 'PENDING_CONFIRMATION' END,
      assignee = CASE copy_n / ${every} % 7 WHEN 0 THEN '王芳' ELSE NULL END, agency = 'agency-' || copy_n % 40 || '.example',
      due_at = ${now} + 60000 * (copy_n * 7919 % 20000 - 3000), created_at = ${now} - 60000 * copy_n, updated_at = ${now} - 30000 * copy_n`)}
    ${copies("task_card", "task_copy", "task_id", "TRUE", "task_id = copy_id + 3, summary = summary || ' ' || copy_n")}
    ${copies("task_move", "task_copy", "task_id", "TRUE", "task_id = copy_id + 3")}
    UPDATE id_block SET next_id = ${first + IDS * mails};
    COMMIT;`);
  database.close();
}

/** The rows of a table that belong to the copied ones, changed, and added to it. */
function copies(table, copy, key, condition, changes) {
  return `
    CREATE TEMP TABLE ${table}_new AS SELECT ${table}.*, copy_n, copy_id FROM ${copy} JOIN main.${table} USING (${key}) WHERE ${condition};
    UPDATE ${table}_new SET ${changes};
    ALTER TABLE ${table}_new DROP COLUMN copy_n;
    ALTER TABLE ${table}_new DROP COLUMN copy_id;
    INSERT INTO main.${table} SELECT * FROM ${table}_new;`;
}
