// A week at the desk of a hotel, for the pictures: fictional agencies, made-up people, always the same days.

import { change } from "../harness/mails.mjs";

/** When the pictures are taken: a Monday, in the middle of the morning (UTC+8). */
export const NOW = "2026-11-30 10:24";
/** When the hotel begins to use the console. */
export const BEGIN = "2026-11-24 08:00";

const CLERKS = ["王芳", "李娜"];
const AGENCIES = [
  ["江南国旅", "陈洁", "chenjie@jiangnan-travel.example"], ["蓝鲸商旅", "周敏", "zhoumin@bluewhale.example"],
  ["云帆国际", "Lin Tao", "lintao@yunfan.example"], ["东湖会展", "何静", "hejing@donghu-expo.example"],
];
const GUESTS = ["赵磊", "孙倩", "吴昊", "郑爽", "冯雪", "蒋文", "韩冰", "杨帆", "朱琳", "秦岚", "许可", "何勇"];
const ROOMS = ["豪华双床房", "豪华大床房", "行政套房"];
const GROUP = "YX-0312";
const BOOKCLUB = { conversation: "YX-0312", from: "银杏文旅 苏晴 <suqing@yinxing.example>" };

/** The days before: single rooms, booked and confirmed; and the group of which today's mail speaks. */
export async function daysBefore(house) {
  let number = 0;
  for (const [day, mails] of [["2026-11-24", 5], ["2026-11-25", 8], ["2026-11-26", 4], ["2026-11-27", 9], ["2026-11-28", 6], ["2026-11-29", 3]]) {
    await house.serveAt(`${day} 08:30`);
    for (let mail = 0; mail < mails; mail += 1) {
      const task = await single(house, number, day);
      if (number % 6 === 5) await decide(house, "reject", task, number, "与前一封邮件重复");
      else await decide(house, "confirm", task, number);
      number += 1;
    }
    await groupStory[day]?.(house);
  }
}

const groupStory = {
  async "2026-11-25"(house) {
    await house.serveAt("2026-11-25 14:06");
    const [task] = await group(house, 1, "2026-11-25 14:06", "团队预订：银杏读书会 3月12日至15日", "请预留团队“银杏读书会”，团号 YX-0312：\n\n入住：2027年3月12日\n离店：2027年3月15日\n豪华双床房 10 间，20 人，含早\n协议价 CNY 640 / 间夜", {
      event_type: "BOOKING_NEW_GROUP", summary: "银杏文旅预留“银杏读书会”10 间 3 晚",
      proposed_changes: [
        change("agency", "银杏文旅"), change("group_name", "银杏读书会"), change("arrival", "2027-03-12"),
        change("departure", "2027-03-15"), change("rooms", 10), change("guests", 20), change("room_type", "豪华双床房"), change("rate", 640),
      ],
    });
    await decide(house, "confirm", task, 0);
  },
  async "2026-11-27"(house) {
    await house.serveAt("2026-11-27 09:41");
    const [task] = await group(house, 2, "2026-11-27 09:41", "回复：团队预订：银杏读书会 增加房间", "报名人数增加，请把 YX-0312 改为 12 间，24 人。", {
      event_type: "BOOKING_AMEND", summary: "“银杏读书会”增至 12 间",
      proposed_changes: [change("rooms", 12, 10), change("guests", 24, 20)],
    });
    await decide(house, "confirm", task, 1, "苏晴电话确认");
  },
};

/** This morning: what waits on the board. Returns the task of the card and its order. */
export async function thisMorning(house) {
  await house.serveAt("2026-11-30 08:12");
  const proposals = [
    [0, "08:12", "散客预订 王建国 1月15日入住", "客人：王建国 / 刘敏，2027年1月15日至17日，豪华双床房 1 间。", {
      event_type: "BOOKING_NEW_FIT", object_type: "FIT", summary: "为王建国预订豪华双床房 1 间，2 晚", proposed_changes: reservation("王建国 / 刘敏", "2027-01-15", "2027-01-17", "豪华双床房") }, "JN-1130-01"],
    [1, "08:40", "开票申请：11 月房费", "请开具增值税普通发票，金额 3,840 元，抬头：蓝鲸商务服务有限公司。", {
      event_type: "INVOICE_REQUEST", summary: "蓝鲸商旅申请 11 月房费发票，税号未提供", proposed_changes: [change("title", "蓝鲸商务服务有限公司"), change("amount", 3840), change("email", "zhoumin@bluewhale.example")] }, "CN-2026-001"],
    [2, "09:05", "定金已付 CN-2026-002", "定金 CNY 1,280 已于今日汇出，流水号 FT26334-10927，请查收附件。", {
      event_type: "PAYMENT_PROOF", summary: "云帆国际支付定金 1,280 元", proposed_changes: [change("amount", 1280), change("currency", "CNY"), change("payer", "云帆国际"), change("reference", "FT26334-10927"), change("date", "2026-11-30")] }, "CN-2026-002", ["付款回单 FT26334-10927.pdf"]],
    [3, "09:18", "会议团 5 月报价咨询", "5 月 20 日前后 2 晚，约 40 间，请报含早价。", {
      event_type: "RATE_AVAILABILITY_INQUIRY", summary: "东湖会展询 5 月 40 间 2 晚含早价", proposed_changes: [] }, null],
    [0, "09:33", "特殊要求：高楼层、安静", "王建国先生希望住高楼层，远离电梯。", {
      event_type: "SPECIAL_REQUEST", summary: "王建国：高楼层，远离电梯", proposed_changes: [] }, "JN-1130-01"],
    [1, "09:52", "投诉：入住等候过久", "上周五客人等候入住 50 分钟，希望酒店说明。", {
      event_type: "COMPLAINT", summary: "客人上周五等候入住 50 分钟", proposed_changes: [] }, null],
    [2, "10:03", "冬季航线推介", "云帆国际冬季航线产品手册，敬请查阅。", {
      event_type: "INFORMATIONAL", summary: "冬季航线推介，无需处理", proposed_changes: [] }, null, ["冬季航线手册.pdf"]],
  ];
  for (const [index, [agency, time, subject, text, event, key, files = []]] of proposals.entries()) {
    const id = `today-${index}@desk.example`;
    await house.mail({ ...mailOf(agency, `2026-11-30 ${time}`), id, conversation: key ?? id, subject, text_body: greeting(agency, text), attachments: files.map((name) => ({ name, size: 184320, type: "application/pdf" })) });
    await house.propose(id, { object_type: null, ...event, case_keys: keys(key), evidence: [quoteOf(text)], manual_review: null });
  }
  await house.serveAt("2026-11-30 10:17");
  const [task] = await group(house, 3, "2026-11-30 10:17", "回复：团队预订：银杏读书会 减房并推迟一天", "有两家人来不了，请把 YX-0312 改为豪华双床房 8 间，\n入住改到 2027年3月13日，共 7 位大人，离店不变。\n\n请今天内回复，我们好通知客人。", {
    event_type: "BOOKING_AMEND", summary: "“银杏读书会”减至 8 间，推迟一天入住",
    proposed_changes: [change("rooms", 8, 12), change("arrival", "2027-03-13", "2027-03-12"), change("guests", 7, 24)],
    evidence: [{ source_message_id: null, quote: "豪华双床房 8 间" }, { source_message_id: null, quote: "入住改到 2027年3月13日" }, { source_message_id: null, quote: "共 7 位大人" }],
  });
  return { task, order: (await house.task(task)).order_id };
}

/** An agent's look at what is known, a mail that books a room, and the proposal. */
async function single(house, number, day) {
  const agency = number % AGENCIES.length;
  const [guest, room] = [GUESTS[number % GUESTS.length], ROOMS[number % ROOMS.length]];
  const arrival = `2027-02-${String(1 + (number % 20)).padStart(2, "0")}`;
  const departure = `2027-02-${String(3 + (number % 20)).padStart(2, "0")}`;
  const [id, key] = [`single-${number}@desk.example`, `CN-2026-${String(number + 1).padStart(3, "0")}`];
  const text = `客人：${guest}，${arrival} 入住，${departure} 离店，${room} 1 间。`;
  await house.mail({ ...mailOf(agency, `${day} 08:${String(10 + number % 15)}`), id, conversation: key, subject: `散客预订 ${guest} ${room}`, text_body: greeting(agency, text) });
  await house.call("th_hotel_query_case_context", { confirmation_number: key });
  const [task] = await house.propose(id, {
    event_type: "BOOKING_NEW_FIT", object_type: "FIT", case_keys: keys(key), summary: `为${guest}预订${room} 1 间，2 晚`,
    proposed_changes: [...reservation(guest, arrival, departure, room), change("agency", AGENCIES[agency][0])], evidence: [quoteOf(text)], manual_review: null,
  });
  return task;
}

async function group(house, number, time, subject, text, event) {
  const id = `yx-0312-${number}@yinxing.example`;
  await house.mail({ ...BOOKCLUB, id, subject, received_at: iso(time), text_body: `湖畔酒店预订部：\n\n${text}\n\n银杏文旅 苏晴\n` });
  await house.call("th_hotel_query_case_context", { group_code: GROUP });
  return house.propose(id, {
    object_type: "GROUP", case_keys: { group_code: GROUP, confirmation_number: null, reservation_no: null },
    evidence: [quoteOf(text)], manual_review: null, ...event,
  });
}

function decide(house, verdict, task, number, reason) {
  const words = reason ? ["--reason", reason] : [];
  return house.command("tasks", verdict, task, "--as", CLERKS[number % CLERKS.length], ...words);
}

function reservation(guest, arrival, departure, room) {
  return [change("guest_name", guest), change("arrival", arrival), change("departure", departure), change("rooms", 1), change("room_type", room)];
}

function keys(confirmation_number) {
  return { group_code: null, confirmation_number, reservation_no: null };
}

function mailOf(agency, time) {
  const [name, person, address] = AGENCIES[agency];
  return { from: `${name} ${person} <${address}>`, received_at: iso(time) };
}

function iso(minute) {
  return `${minute.replace(" ", "T")}:00+08:00`;
}

function greeting(agency, text) {
  return `湖畔酒店预订部：\n\n${text}\n\n${AGENCIES[agency][0]} ${AGENCIES[agency][1]}\n`;
}

function quoteOf(text) {
  return { source_message_id: null, quote: text.split("\n").at(-1).split("，")[0] };
}
