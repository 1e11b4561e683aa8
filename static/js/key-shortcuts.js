/* <key-shortcuts>: single keys, as each person set them. Off by choice, never in fields, never twice for a held key.

   Elements say what they are for: `data-key-focus="approve"` is led to, `data-key-act="claim"` is pressed,
   `data-key-row` holds what belongs together and `data-key-open` is its place in the order of j and k. */

const TYPING = "input:not([type=checkbox], [type=radio]), select, textarea, dialog, [contenteditable]";
const FIELDS = "input:not([type=hidden], [hidden]), select, textarea:not([hidden])";

class KeyShortcuts extends HTMLElement {
  connectedCallback() {
    this.dialog = this.querySelector("dialog");
    this.querySelector("button").addEventListener("click", () => this.dialog.showModal());
    this.keys = new Map([...this.querySelectorAll("[data-key-for]")].map((key) => [key.textContent, key.dataset.keyFor]));
    this.press = (event) => this.pressed(event);
    document.addEventListener("keydown", this.press);
    this.hidden = false;
  }

  disconnectedCallback() {
    document.removeEventListener("keydown", this.press);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // A held Enter would press the button it is on again and again.
    if (event.repeat && event.key === "Enter" && event.target.closest("button, a")) return event.preventDefault();
    if (event.key === "Escape" && event.target.matches(FIELDS)) return this.leave(event.target);
    if (event.repeat || event.target.closest(TYPING) || this.dataset.on !== "yes") return;
    const action = this.keys.get(event.key);
    if (action && this.does(action)) event.preventDefault();
  }

  /* True where there was something to do: other keys stay the browser's. */
  does(action) {
    if (action === "help") return this.dialog.showModal(), true;
    if (action === "next" || action === "previous") return this.step(action);
    const found = action === "open" ? this.row()?.querySelector("[data-key-open]") : this.find(action);
    if (!found) return false;
    if (action === "open" || found.dataset.keyAct === action) found.click();
    else this.lead(found);
    return true;
  }

  find(action) {
    const wanted = `[data-key-act="${action}"], [data-key-focus="${action}"]`;
    return this.row()?.querySelector(wanted) ?? [...document.querySelectorAll(wanted)].find((one) => one.checkVisibility());
  }

  lead(element) {
    element.closest("details:not([open])")?.setAttribute("open", "");
    const holds = element.matches("form, section, div");
    // The value before what can be said about it.
    const target = holds ? (element.querySelector("[data-pointer]") ?? element.querySelector(FIELDS)) : element;
    target?.focus();
  }

  leave(field) {
    field.blur();
    field.closest("[data-key-row]")?.querySelector("[data-key-open]")?.focus();
  }

  row() {
    return document.activeElement?.closest("[data-key-row]");
  }

  /* Where a page shows one of many, the next is a page of its own; at the end of them the key does nothing. */
  step(action) {
    if (!document.querySelector("[data-key-act=next], [data-key-act=previous]")) return this.move(action === "next" ? 1 : -1);
    document.querySelector(`[data-key-act=${action}]`)?.click();
    return true;
  }

  move(step) {
    const stops = [...document.querySelectorAll("[data-key-open]")];
    const here = stops.indexOf(this.row()?.querySelector("[data-key-open]"));
    stops[here < 0 ? 0 : Math.min(Math.max(here + step, 0), stops.length - 1)]?.focus();
    return stops.length > 0;
  }
}

customElements.define("key-shortcuts", KeyShortcuts);
