// Progressive enhancement of the pages: ages, a filter on the board, and live updates.
// Pages work without it. Nothing from a page is evaluated, or parsed as anything but our own HTML.
"use strict";

(() => {
  const body = document.body;
  const announcer = document.getElementById("said");
  const status = document.getElementById("live");

  // --- ages, worded as in views/board/labels.py ---

  function age(since, now) {
    const seconds = (now - since) / 1000;
    if (seconds < 60) return "just now";
    if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
    return `${Math.floor(seconds / 86400)} days ago`;
  }

  function updateAges() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const since = Date.parse(time.dateTime);
      const words = Number.isNaN(since) ? "" : age(since, now);
      if (words && time.textContent !== words) time.textContent = words;
    }
  }

  // --- the filter ---

  const filter = document.getElementById("filter");

  function applyFilter() {
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

  // --- applying changes ---

  let shown = null; // the page as the server sent it last; the one on screen also has ages and open details

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

  function updateParts(fresh) {
    const before = parts(shown);
    const now = parts(document);
    for (const [name, node] of parts(fresh)) {
      const known = before.get(name);
      const here = now.get(name);
      if (here && !(known && known.isEqualNode(node))) replace(here, node);
    }
  }

  function updateCards(fresh) {
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

  function rememberFocus() {
    const at = document.activeElement;
    if (!at || at === body) return null;
    const key = at.closest("[data-key]");
    return { at, key: key && key.dataset.key, id: at.id || (at.parentElement && at.parentElement.id), href: at.getAttribute("href") };
  }

  function restoreFocus(was) {
    if (!was || document.activeElement === was.at) return;
    let to = document.contains(was.at) ? was.at : null;
    if (!to && was.key) to = document.querySelector(`[data-key="${CSS.escape(was.key)}"] a`);
    if (!to && was.href) to = document.querySelector(`main a[href="${CSS.escape(was.href)}"]`);
    if (!to && was.id) to = document.getElementById(was.id);
    if (to && to.tagName === "DETAILS") to = to.querySelector("summary");
    if (to) to.focus({ preventScroll: true });
  }

  function update(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const was = rememberFocus();
    const news = updateCards(fresh);
    updateParts(fresh);
    shown = fresh;
    updateAges();
    applyFilter();
    restoreFocus(was);
    if (news.length) announcer.textContent = news.length > 3 ? `${news.length} stories moved` : news.join(", ");
  }

  // --- listening ---

  const WAIT = 300; // milliseconds between two refreshes; the first is immediate
  let refreshing = false;
  let again = false;

  async function refresh() {
    if (refreshing) {
      again = true;
      return;
    }
    refreshing = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual", cache: "no-store" });
      if (answer.ok) update(await answer.text());
      else if (answer.type === "opaqueredirect" || answer.status === 401) showStatus("off", "logged out");
    } catch {
      showStatus("off", "not live");
    }
    await new Promise((done) => setTimeout(done, WAIT));
    refreshing = false;
    if (again) {
      again = false;
      refresh();
    }
  }

  function showStatus(kind, words) {
    if (!status) return;
    status.hidden = false;
    status.className = `live ${kind}`;
    status.textContent = words;
  }

  function isRelevant(event) {
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
      showStatus("on", "live");
      if (cut) refresh(); // the browser requests missed events itself; this is for a server that no longer has them
      cut = false;
    });
    source.addEventListener("error", () => {
      cut = true;
      showStatus("off", source.readyState === EventSource.CLOSED ? "not live" : "connecting");
    });
    for (const kind of [...body.dataset.kinds.split(" "), "missed"]) {
      if (kind) source.addEventListener(kind, (event) => { if (kind === "missed" || isRelevant(event)) refresh(); });
    }
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }

  shown = document.cloneNode(true); // before anything is changed
  updateAges();
  setInterval(updateAges, 30000);
  if (filter) {
    filter.closest("[hidden]").hidden = false;
    filter.addEventListener("input", applyFilter);
  }
  if (body.dataset.events && body.dataset.kinds) listen();
})();
