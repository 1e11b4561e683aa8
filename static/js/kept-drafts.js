/* What was typed a moment before its page is left is sent along, and kept like all that was typed before.

   A draft is sent after a pause in the typing. Leaving makes none, and takes with it what is on its way. */

const late = new Set(); // forms that hold more than was sent
const sending = new Set();

const formOf = (event) => event.target.closest?.("form");
const draftOf = (form) => form?.querySelector(".draft[hx-post]");

function typed(event) {
  if (draftOf(formOf(event))) late.add(formOf(event));
}

function underWay(event) {
  if (!event.target.matches?.(".draft")) return;
  late.delete(formOf(event));
  sending.add(formOf(event));
}

function arrived(event) {
  if (event.target.matches?.(".draft")) sending.delete(formOf(event));
}

function dropped(event) {
  if (event.submitter?.name === "drop") for (const forms of [late, sending]) forms.delete(event.target);
}

function leave() {
  for (const form of new Set([...late, ...sending])) {
    if (!form.isConnected) continue; // another one took its place
    const headers = { "HX-Request": "true" }; // without it the answer is another page
    fetch(draftOf(form).getAttribute("hx-post"), { method: "POST", body: new FormData(form), headers, keepalive: true });
  }
  late.clear();
  sending.clear();
}

for (const kind of ["input", "change"]) document.addEventListener(kind, typed);
document.addEventListener("htmx:before:request", underWay);
document.addEventListener("htmx:finally:request", arrived);
document.addEventListener("submit", dropped, true); // before htmx, which lets it go no further
window.addEventListener("pagehide", leave);
document.addEventListener("visibilitychange", () => document.hidden && leave());
