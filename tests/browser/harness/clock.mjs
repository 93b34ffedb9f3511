// A program that believes it is another day: Debian's libfaketime gives it the time of day and leaves its timers alone.

import { fakeClock } from "./settings.mjs";

/** The environment in which a program starts at this minute of UTC+8 ("2026-11-30 10:24"). */
export function startingAt(minute) {
  const utc = new Date(`${minute.replace(" ", "T")}:00+08:00`).toISOString().slice(0, 19).replace("T", " ");
  return { ...process.env, TZ: "UTC", LD_PRELOAD: fakeClock(), FAKETIME: `@${utc}`, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}
