// Mails of fictional agencies, and what an agent proposes for them.

/** A mail that books one room, and the proposal that a clerk can confirm without a word. */
export const booking = {
  mail: {
    id: "booking-1@jiangnan.example",
    conversation: "booking-1",
    subject: "散客预订：王建国 1月15日入住 豪华双床房1间",
    from: "江南国旅 陈洁 <chenjie@jiangnan.example>",
    text_body: "湖畔酒店预订部：\n\n请预订以下房间：\n客人：王建国 / 刘敏\n入住：2047年1月15日\n离店：2047年1月17日\n豪华双床房 1 间\n\n江南国旅 陈洁\n",
  },
  event: {
    event_type: "BOOKING_NEW_FIT", object_type: "FIT", current_or_history: "current",
    case_keys: { group_code: null, confirmation_number: "JN-20470115", reservation_no: null },
    proposed_changes: [
      change("guest_name", "王建国 / 刘敏"), change("agency", "江南国旅"), change("arrival", "2047-01-15"),
      change("departure", "2047-01-17"), change("rooms", 1), change("room_type", "豪华双床房"),
    ],
    evidence: [{ source_message_id: null, quote: "入住：2047年1月15日" }],
    summary: "江南国旅为王建国预订豪华双床房 1 间，2 晚",
    manual_review: null,
  },
};

/** A later mail of the same conversation that moves the departure. */
export const amendment = {
  mail: {
    ...booking.mail,
    id: "booking-2@jiangnan.example",
    subject: "回复：散客预订：王建国 延住一晚",
    received_at: "2026-11-30T11:00:00+08:00",
    text_body: "预订部：\n\n王建国先生改为 2047年1月18日离店，请确认。\n\n江南国旅 陈洁\n",
  },
  event: {
    ...booking.event,
    event_type: "BOOKING_AMEND",
    proposed_changes: [change("departure", "2047-01-18", "2047-01-17")],
    evidence: [{ source_message_id: null, quote: "2047年1月18日离店" }],
    summary: "王建国延住一晚",
  },
};

/** The last mail of the conversation calls the booking off. */
export const cancellation = {
  mail: {
    ...booking.mail,
    id: "booking-3@jiangnan.example",
    subject: "回复：散客预订：王建国 取消",
    received_at: "2026-11-30T15:00:00+08:00",
    text_body: "预订部：\n\n王建国先生行程取消，请取消该预订。\n\n江南国旅 陈洁\n",
  },
  event: {
    ...booking.event,
    event_type: "BOOKING_CANCEL",
    proposed_changes: [change("scope", "ALL"), change("reason", "客人行程取消")],
    evidence: [{ source_message_id: null, quote: "请取消该预订" }],
    summary: "取消王建国的预订",
  },
};

/** Takes the mail in and submits the proposal; returns its task. */
export async function propose(house, { mail, event }) {
  await house.mail(mail);
  const [task] = await house.propose(mail.id, event);
  return task;
}

/** One proposed change. */
export function change(field, to, from = null) {
  return { field, from, to };
}
