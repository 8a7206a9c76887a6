// What the pages do besides being read: ages, a filter on the board, and updates without a reload.
// Without it everything is still there. Nothing from a page is ever evaluated or parsed as anything but HTML of ours.
"use strict";

(() => {
  const body = document.body;
  const said = document.getElementById("said");
  const status = document.getElementById("live");

  // --- how long ago, in the words of core/board/words.py ---

  function age(since, now) {
    const seconds = (now - since) / 1000;
    if (seconds < 60) return "just now";
    if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
    return `${Math.floor(seconds / 86400)} days ago`;
  }

  function tellAges() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const since = Date.parse(time.dateTime);
      const words = Number.isNaN(since) ? "" : age(since, now);
      if (words && time.textContent !== words) time.textContent = words;
    }
  }

  // --- the filter ---

  const filter = document.getElementById("filter");

  function sift() {
    if (!filter) return;
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    let all = 0;
    for (const each of document.querySelectorAll("#board [data-words]")) {
      const fits = !wanted || each.dataset.words.toLowerCase().includes(wanted);
      each.hidden = !fits;
      all += 1;
      shown += fits ? 1 : 0;
    }
    for (const rest of document.querySelectorAll("#board details.rest")) {
      if (wanted) rest.open = rest.querySelector("[data-words]:not([hidden])") !== null;
    }
    document.getElementById("filtered").textContent = wanted ? `${shown} of ${all}` : "";
  }

  // --- taking over what changed ---

  let shown = null; // the page as the server sent it last: what is on screen has ages and open folds besides

  function parts(root) {
    return new Map([...root.querySelectorAll("[data-part]")].map((each) => [each.dataset.part, each]));
  }

  function lists(root) {
    return new Map([...root.querySelectorAll("ul[data-column]")].map((each) => [each.dataset.column, each]));
  }

  function replace(old, fresh) {
    const open = new Set([...old.querySelectorAll("details[open]")].map((each) => each.id));
    const closed = new Set([...old.querySelectorAll("details:not([open])")].map((each) => each.id));
    const node = document.importNode(fresh, true);
    for (const each of node.querySelectorAll("details[id]")) {
      if (open.has(each.id)) each.open = true;
      if (closed.has(each.id)) each.open = false;
    }
    old.replaceWith(node);
  }

  function takeParts(fresh) {
    const before = parts(shown);
    const now = parts(document);
    for (const [name, node] of parts(fresh)) {
      const known = before.get(name);
      const here = now.get(name);
      if (here && !(known && known.isEqualNode(node))) replace(here, node);
    }
  }

  function takeCards(fresh) {
    const here = lists(document);
    if (!here.size) return [];
    const known = new Map([...shown.querySelectorAll("ul[data-column] > [data-key]")].map((each) => [each.dataset.key, each]));
    const nodes = new Map([...document.querySelectorAll("ul[data-column] > [data-key]")].map((each) => [each.dataset.key, each]));
    const news = [];
    for (const [column, list] of lists(fresh)) {
      const target = here.get(column);
      let place = target.firstElementChild;
      for (const card of list.children) {
        const key = card.dataset.key;
        let node = nodes.get(key);
        const was = known.get(key);
        if (!node || !was || !was.isEqualNode(card)) {
          const made = document.importNode(card, true);
          if (node) {
            if (place === node) place = made;
            node.replaceWith(made);
          }
          node = made;
          node.classList.add("arrived");
        }
        nodes.delete(key);
        if (!was || was.parentElement.dataset.column !== column) news.push(`${key.split(":").pop()}: ${column}`);
        if (node === place) place = place.nextElementSibling;
        else target.insertBefore(node, place);
      }
    }
    for (const gone of nodes.values()) gone.remove();
    for (const number of fresh.querySelectorAll("[data-count]")) {
      const old = document.querySelector(`[data-count="${CSS.escape(number.dataset.count)}"]`);
      if (old) old.textContent = number.textContent;
    }
    return news;
  }

  function focused() {
    const at = document.activeElement;
    if (!at || at === body) return null;
    const key = at.closest("[data-key]");
    return { at, key: key && key.dataset.key, id: at.id || (at.parentElement && at.parentElement.id), href: at.getAttribute("href") };
  }

  function focusAgain(was) {
    if (!was || document.activeElement === was.at) return;
    let to = document.contains(was.at) ? was.at : null;
    if (!to && was.key) to = document.querySelector(`[data-key="${CSS.escape(was.key)}"] a`);
    if (!to && was.href) to = document.querySelector(`main a[href="${CSS.escape(was.href)}"]`);
    if (!to && was.id) to = document.getElementById(was.id);
    if (to && to.tagName === "DETAILS") to = to.querySelector("summary");
    if (to) to.focus({ preventScroll: true });
  }

  function take(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const was = focused();
    const news = takeCards(fresh);
    takeParts(fresh);
    shown = fresh;
    tellAges();
    sift();
    focusAgain(was);
    if (news.length) said.textContent = news.length > 3 ? `${news.length} stories moved` : news.join(", ");
  }

  // --- listening ---

  const WAIT = 300; // between two looks; the first is taken at once
  let looking = false;
  let again = false;

  async function look() {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual", cache: "no-store" });
      if (answer.ok) take(await answer.text());
      else if (answer.type === "opaqueredirect" || answer.status === 401) tell("off", "logged out");
    } catch {
      tell("off", "not live");
    }
    await new Promise((done) => setTimeout(done, WAIT));
    looking = false;
    if (again) {
      again = false;
      look();
    }
  }

  function tell(kind, words) {
    if (!status) return;
    status.hidden = false;
    status.className = `live ${kind}`;
    status.textContent = words;
  }

  function concerns(event) {
    if (!body.dataset.repo) return true;
    try {
      const repo = JSON.parse(event.data).repo;
      return !repo || repo.toLowerCase() === body.dataset.repo.toLowerCase();
    } catch {
      return true;
    }
  }

  function listen() {
    const source = new EventSource(body.dataset.events);
    let cut = false;
    source.addEventListener("open", () => {
      tell("on", "live");
      if (cut) look(); // the browser asks for what it missed by itself; this is for a server that kept nothing
      cut = false;
    });
    source.addEventListener("error", () => {
      cut = true;
      tell("off", source.readyState === EventSource.CLOSED ? "not live" : "connecting");
    });
    for (const kind of [...body.dataset.kinds.split(" "), "missed"]) {
      if (kind) source.addEventListener(kind, (event) => { if (kind === "missed" || concerns(event)) look(); });
    }
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }

  shown = document.cloneNode(true); // before anything is changed
  tellAges();
  setInterval(tellAges, 30000);
  if (filter) {
    filter.closest("[hidden]").hidden = false;
    filter.addEventListener("input", sift);
  }
  if (body.dataset.events && body.dataset.kinds) listen();
})();
