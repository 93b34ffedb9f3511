// The console's own script: pages keep themselves up to date, and the keyboard works them. Nothing needs it.
//
// What a template says:
//   data-live="MARK"        on main: somebody is logged in; MARK is what the page had seen (see /console/events)
//   data-refresh="TOPICS"   with an id: a part that is fetched again, from the page's own address, when a topic changes
//   data-news="PATH" data-topic="TOPIC"   filled with what PATH answers when the topic changes; the page stays as it is
//   data-keep               on a link: what was typed is there again when the page it leads to has the same path
//   data-key="x"            the key clicks a button or link, and focuses a field
//   data-decides            the key only focuses it; the same key again, or Enter, does it
//   data-opens="ID"         a button that opens a dialog
"use strict";

(() => {
  const MAIN = "#main";
  const ROWS = ".list a.title";
  const REFRESH_PAUSE_MS = 2000;
  const RETRY_MS = 10000;
  const FIRST_BACKOFF_MS = 5000;
  const LAST_BACKOFF_MS = 120000;

  const main = () => document.querySelector(MAIN);
  const rows = () => [...document.querySelectorAll(`${MAIN} ${ROWS}`)];

  // The stream. Every visible window of a browser has one, and of the hidden ones only the last that was looked at: a
  // browser has six connections to a server, and the title of that window tells how much is new.

  const windows = new BroadcastChannel("countersign-console");
  let source = null;
  let hasYielded = false;
  let isOver = false;
  let heard = "";
  let backoff = FIRST_BACKOFF_MS;

  function openStream() {
    const mark = main()?.dataset.live;
    if (source || isOver || hasYielded || mark === undefined) return;
    const stream = new EventSource(`/console/events?seen=${encodeURIComponent(heard || mark)}`);
    source = stream;
    stream.addEventListener("open", () => { backoff = FIRST_BACKOFF_MS; });
    stream.addEventListener("change", (event) => {
      heard = event.lastEventId;
      changed(event.data.split(" "));
    });
    stream.addEventListener("ended", () => {
      isOver = true;
      closeStream();
      document.getElementById("session-ended")?.removeAttribute("hidden");
    });
    stream.addEventListener("error", () => {
      // A stream that broke off is opened again by the browser; one that was refused is not.
      if (stream.readyState !== EventSource.CLOSED) return;
      closeStream();
      setTimeout(openStream, backoff);
      backoff = Math.min(2 * backoff, LAST_BACKOFF_MS);
    });
  }

  function closeStream() {
    source?.close();
    source = null;
  }

  function lookedAt() {
    if (document.hidden) return;
    windows.postMessage("looked at");
    hasYielded = false;
    unseen = 0;
    showTitle();
    openStream();
  }

  windows.addEventListener("message", () => {
    if (!document.hidden) return;
    hasYielded = true;
    closeStream();
  });
  document.addEventListener("visibilitychange", lookedAt);

  // Refreshing: at once, then at most every two seconds, and never under somebody who types.

  const pending = new Set();
  let timer = 0;
  let refreshedAt = -REFRESH_PAUSE_MS;

  function changed(topics) {
    topics.forEach((topic) => pending.add(topic));
    schedule(refreshedAt + REFRESH_PAUSE_MS - performance.now());
  }

  function schedule(wait) {
    if (!timer && pending.size) timer = setTimeout(refresh, Math.max(0, wait));
  }

  async function refresh() {
    timer = 0;
    const parts = [...document.querySelectorAll("[data-refresh]")];
    // The end of the typing schedules it again.
    if (isOver || parts.some((part) => isTyping(document.activeElement) && part.contains(document.activeElement))) return;
    refreshedAt = performance.now();
    const topics = new Set(pending);
    pending.clear();
    const concerns = (words) => words.split(" ").some((word) => topics.has(word));
    try {
      const stale = parts.filter((part) => concerns(part.dataset.refresh));
      if (stale.length) await replace(stale);
      for (const place of document.querySelectorAll("[data-news]")) {
        if (concerns(place.dataset.topic)) await tell(place);
      }
    } catch {
      // The server was not reached, or led to the log-in: the stream says which.
      topics.forEach((topic) => pending.add(topic));
      schedule(RETRY_MS);
    }
  }

  document.addEventListener("focusout", () => schedule(0));

  async function fetchPage(path) {
    const answer = await fetch(path, { headers: { "Console-Refresh": "1" }, redirect: "error" });
    const text = answer.status === 200 ? await answer.text() : "";
    return text && new DOMParser().parseFromString(text, "text/html");
  }

  async function replace(parts) {
    const address = location.href;
    const page = await fetchPage(address);
    if (!page || location.href !== address) return;
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      if (fresh && part.isConnected) swap(part, document.adoptNode(fresh));
    }
    markNew();
  }

  // Puts the new part in the old one's place with its boxes checked, its focus, and the topmost row where it was.
  function swap(old, fresh) {
    for (const box of old.querySelectorAll("input[type=checkbox]:checked")) {
      const same = counterpart(box, fresh);
      if (same) same.checked = true;
    }
    const focused = old.contains(document.activeElement) ? counterpart(document.activeElement, fresh) : null;
    const top = scrollY > 0 && [...old.querySelectorAll(ROWS)].find((row) => row.getBoundingClientRect().top >= 0);
    const wasAt = top ? top.getBoundingClientRect().top : 0;
    old.replaceWith(fresh);
    htmx.process(fresh);
    focused?.focus({ preventScroll: true });
    const same = top && counterpart(top, fresh);
    if (same) scrollBy(0, same.getBoundingClientRect().top - wasAt);
  }

  function counterpart(element, within) {
    const names = ["id", "href", "name", "value"].filter((name) => element.hasAttribute(name));
    const conditions = names.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`);
    return conditions.length ? within.querySelector(conditions.join("")) : null;
  }

  async function tell(place) {
    const page = await fetchPage(place.dataset.news);
    if (!page || !place.isConnected) return;
    if (document.hidden && !place.hasChildNodes()) unseen += 1;
    place.replaceChildren(...page.body.childNodes);
    showTitle();
  }

  // What is new: marked in the list, and counted in the title while nobody looks.

  const known = new Set();
  const counted = new Set();
  let unseen = 0;
  let title = document.title;

  function markNew() {
    for (const row of rows().filter((row) => row.closest("[data-refresh]") && !known.has(row.href))) {
      row.closest("li").classList.add("new");
      if (document.hidden && !counted.has(row.href)) unseen += 1;
      counted.add(row.href);
    }
    showTitle();
  }

  function showTitle() {
    document.title = unseen ? `(${unseen}) ${title}` : title;
  }

  // What was typed goes along a link to the same page.

  const keptUnder = () => `countersign-kept ${location.pathname}`;
  const fields = () => [...document.querySelectorAll(`${MAIN} :is(textarea, input:not([type=hidden]))[name]`)];

  function keepTyped() {
    const typed = fields().filter((field) => field.value !== field.defaultValue);
    sessionStorage.setItem(keptUnder(), JSON.stringify(typed.map((field) => [field.name, field.value])));
  }

  function restoreTyped() {
    const kept = sessionStorage.getItem(keptUnder());
    if (!kept) return;
    sessionStorage.removeItem(keptUnder());
    for (const [name, value] of JSON.parse(kept)) {
      const field = fields().find((field) => field.name === name);
      if (field) field.value = value;
    }
  }

  // The keyboard.

  const PLACES = { t: "/console/tasks", i: "/console/inbox" };
  const SECOND_KEY_MS = 1500;
  let goPressedAt = -SECOND_KEY_MS;

  function isTyping(element) {
    return Boolean(element?.matches("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])"));
  }

  function move(step) {
    const all = rows();
    const at = all.indexOf(document.activeElement);
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
    return Boolean(next);
  }

  function press(key) {
    const element = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)]
      .find((element) => !element.disabled && element.getClientRects().length);
    if (!element) return false;
    const focuses = element.matches("input, textarea, select") || "decides" in element.dataset;
    if (focuses && document.activeElement !== element) element.focus();
    else element.click();
    return true;
  }

  function handle(event) {
    const isSecond = event.timeStamp - goPressedAt < SECOND_KEY_MS;
    goPressedAt = -SECOND_KEY_MS;
    const isOnRow = document.activeElement?.matches(ROWS);
    if (event.key === "j" || (event.key === "ArrowDown" && isOnRow)) return move(1);
    if (event.key === "k" || (event.key === "ArrowUp" && isOnRow)) return move(-1);
    // A key that is held down is one press.
    if (event.repeat) return false;
    if (isSecond && PLACES[event.key]) {
      document.querySelector(`.top nav a[href="${PLACES[event.key]}"]`)?.click();
      return true;
    }
    if (event.key === "g") {
      goPressedAt = event.timeStamp;
      return true;
    }
    if (event.key === "/") {
      const search = document.getElementById("search");
      search?.focus();
      return Boolean(search);
    }
    return press(event.key);
  }

  document.addEventListener("keydown", (event) => {
    const isComposing = event.isComposing || event.keyCode === 229;
    if (isComposing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      document.activeElement?.blur();
    } else if (!isTyping(event.target) && !document.querySelector("dialog[open]") && handle(event)) {
      event.preventDefault();
    }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keep]")) keepTyped();
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  });

  // A page has come, by itself or into this one's place.
  function arrive() {
    known.clear();
    counted.clear();
    rows().forEach((row) => known.add(row.href));
    unseen = 0;
    title = document.title;
    restoreTyped();
    document.querySelectorAll("[data-opens]").forEach((opener) => opener.removeAttribute("hidden"));
    const mark = main()?.dataset.live;
    // Something was written while the page was on its way.
    if (mark !== undefined && heard && mark !== heard) changed(["tasks", "inbox"]);
    lookedAt();
  }

  document.addEventListener("htmx:afterSettle", arrive);
  arrive();
})();
