// Keeps the page up to date: parts that changed come as server-sent events, and forms are sent without a new page.
// Without this script, the page shows the state of the moment at which it was loaded.

const SILENCE = 2500; // milliseconds without an event after which nothing counts as known; one comes every second
const MOST_PRESSED = 5000; // milliseconds that a pressed mouse holds up what changes

let source = null;
let timer = 0;
let late = null; // parts that came since the mouse was pressed: a click needs the element that was pressed
let shown = location.pathname + location.search; // of the view; a link to a part of it leads to no other one

/** Put HTML of the server into an element, and keep the focus where it was. */
function put(element, html) {
  const active = document.activeElement;
  const place = element.contains(active) ? pathOf(active) : null;
  const open = [...element.querySelectorAll("details[open][id]")].map((each) => each.id);
  element.innerHTML = html;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (place) refocus(place);
}

/** Give the focus back; if its element is gone, to the heading of what it was in, where a key decides nothing. */
function refocus(place) {
  const heading = document.getElementById(place.id)?.querySelector("h2 a");
  (follow(place) ?? heading ?? document.getElementById("main")).focus();
}

/** Return the state of each server that is listed. */
function states() {
  const rows = [...document.querySelectorAll(".row[id]")].filter((row) => row.querySelector(".state"));
  return new Map(rows.map((row) => [row.querySelector("h2").textContent, row.querySelector(".state").textContent]));
}

/** Have a screen reader say which states have changed by themselves. */
function announce(before) {
  const changed = [...states()].filter(([name, state]) => before.has(name) && before.get(name) !== state);
  if (changed.length) {
    document.getElementById("announced").textContent = changed.map(([name, state]) => `${name}: ${state}`).join("; ");
  }
}

/** Say which element it is: by its id, or by its text or label in an element with an id. */
function pathOf(active) {
  const owner = active.closest("[id]");
  if (owner === active) return { id: active.getAttribute("id") };
  return { id: owner?.getAttribute("id"), tag: active.tagName, name: nameOf(active) };
}

function nameOf(element) {
  return element.getAttribute("aria-label") ?? element.textContent;
}

/** Find the same element again, never another one: its neighbour may accept something else. */
function follow({ id, tag, name }) {
  const owner = document.getElementById(id);
  if (!tag || !owner) return owner;
  return [...owner.querySelectorAll(tag)].find((each) => nameOf(each) === name);
}

/** Whether the user is writing into this part, which must not be taken away. */
function isBeingWritten(element) {
  const active = document.activeElement;
  return element.contains(active) && active.matches("input, select, textarea");
}

function onEvent({ data }) {
  expect();
  const { at, parts } = JSON.parse(data);
  const time = document.getElementById("at");
  if (time) time.textContent = at;
  if (late) Object.assign(late, parts);
  else show(parts);
}

/** Put parts of the view in their places. */
function show(parts) {
  const before = states();
  for (const [id, html] of Object.entries(parts)) {
    const element = document.getElementById(id);
    if (element && !isBeingWritten(element)) put(element, html);
  }
  announce(before);
  if ("waiting-count" in parts) retitle();
}

function retitle() {
  const count = parseInt(document.getElementById("waiting-count")?.textContent ?? "", 10);
  const plain = document.title.replace(/^\(\d+\) /, "");
  document.title = count ? `(${count}) ${plain}` : plain;
}

/** Show that nothing is known, unless another event comes soon. */
function expect() {
  clearTimeout(timer);
  if (document.body.classList.contains("gone")) {
    location.reload(); // what was marked as unknown is known again
    return;
  }
  timer = setTimeout(lose, SILENCE);
}

function lose(why = "gone") {
  document.body.classList.add(why);
  document.getElementById(why)?.removeAttribute("hidden");
  for (const each of document.querySelectorAll("main, nav")) each.inert = true; // nothing here can be done now
  document.getElementById("announced").textContent = "";
  for (const state of document.querySelectorAll(".state")) {
    state.textContent = "unknown";
    state.dataset.state = "unknown";
  }
}

/** Stop until the user looks at this page again: the browser has more pages than streams. */
function rest() {
  source.close();
  clearTimeout(timer);
  lose("resting");
}

function wake() {
  if (document.visibilityState === "visible" && document.body.classList.contains("resting")) location.reload();
}

function connect() {
  source?.close();
  clearTimeout(timer);
  document.body.classList.remove("resting");
  for (const each of document.querySelectorAll("main, nav")) each.inert = false;
  document.getElementById("resting")?.setAttribute("hidden", "");
  const { events } = document.body.dataset;
  if (!events) return;
  source = new EventSource(events);
  source.onmessage = onEvent;
  source.addEventListener("end", rest);
  timer = setTimeout(lose, SILENCE);
}

/** Show the button that stops waiting for the answer to a form, if it has one. */
function stopper(form) {
  const stopping = new AbortController();
  const button = form.querySelector("[data-stopped]");
  const end = () => button?.setAttribute("hidden", "");
  if (button) {
    const answer = document.getElementById("answer");
    answer.textContent = "";
    button.removeAttribute("hidden");
    button.onclick = () => {
      stopping.abort();
      answer.textContent = button.dataset.stopped;
    };
  }
  return { signal: stopping.signal, end };
}

/** Send a form, and show the view that answers it. */
async function send(form, button) {
  if (form.getAttribute("aria-busy")) return; // it is being carried out
  const fields = new URLSearchParams(new FormData(form, button));
  const main = document.getElementById("main");
  const place = pathOf(button ?? form);
  const stop = stopper(form);
  form.setAttribute("aria-busy", "true");
  let answer;
  try {
    // Not `form.action`: that is a field of this name, if the form of a tool has one.
    const action = button?.getAttribute("formaction") ?? form.getAttribute("action");
    answer = form.getAttribute("method") === "post"
      ? await fetch(action, { method: "POST", body: fields, ...stop })
      : await fetch(`${action}?${fields}`, stop);
  } catch {
    if (!stop.signal.aborted) lose();
    return;
  } finally {
    form.removeAttribute("aria-busy");
    stop.end();
  }
  if (answer.status === 401 || answer.status === 403) {
    location.reload();
    return;
  }
  const text = await answer.text();
  const next = new DOMParser().parseFromString(text, "text/html");
  const content = next.getElementById("main");
  if (!content) {
    tell(text);
    return;
  }
  if (answer.url !== location.href.split("#")[0]) history.pushState(null, "", answer.url);
  shown = location.pathname + location.search;
  document.title = next.title;
  document.body.dataset.events = next.body.dataset.events ?? "";
  document.querySelector("nav").replaceWith(next.querySelector("nav"));
  main.innerHTML = content.innerHTML;
  connect();
  const answered = main.querySelector("[data-focus]");
  if (answered) answered.focus();
  else refocus(place);
}

/** Show that a form was refused. */
function tell(problem) {
  const said = document.createElement("pre");
  said.className = "said wrong";
  said.textContent = problem;
  document.getElementById("said").replaceChildren(said);
}

function onSubmit(event) {
  const form = event.target;
  if (form.getAttribute("id") === "enter" || form.hasAttribute("target")) return;
  event.preventDefault();
  send(form, event.submitter);
}

/** Let this browser in with the token in the address, which disappears from it, also where it is not needed. */
function enter() {
  const token = location.hash.slice(1);
  if (!token || document.getElementById(token)) return; // a link to a part of the view
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.getElementById("enter");
  if (!form) return;
  document.getElementById("token").value = token;
  form.submit();
}

function onPress() {
  late ??= {};
  setTimeout(onRelease, MOST_PRESSED);
}

function onRelease() {
  const parts = late ?? {};
  late = null;
  show(parts);
}

/** A key that is held accepts nothing: what comes into its place may be another decision. */
function onKey(event) {
  if (event.repeat && event.target.matches("button, a")) event.preventDefault();
}

addEventListener("keydown", onKey);
addEventListener("pointerdown", onPress);
addEventListener("pointerup", () => setTimeout(onRelease)); // after the click
addEventListener("pointercancel", onRelease);
addEventListener("submit", onSubmit);
addEventListener("popstate", () => {
  if (location.pathname + location.search !== shown) location.reload();
});
document.addEventListener("visibilitychange", wake);
addEventListener("focus", wake);
addEventListener("hashchange", enter);
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
enter();
connect();
