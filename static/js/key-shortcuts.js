/* <key-shortcuts>: single keys for the queue. Off by choice, never in fields, never twice for a held key. */

const STORE = "countersign.keys";

class KeyShortcuts extends HTMLElement {
  connectedCallback() {
    this.dialog = this.querySelector("dialog");
    this.opener = this.querySelector("button");
    this.opener.addEventListener("click", () => this.dialog.showModal());
    this.choice = this.querySelector("[name=keys]");
    this.choice.checked = localStorage.getItem(STORE) !== "off";
    this.choice.addEventListener("change", () => {
      localStorage.setItem(STORE, this.choice.checked ? "on" : "off");
      this.draw();
    });
    this.press = (event) => this.pressed(event);
    document.addEventListener("keydown", this.press);
    this.hidden = false;
    this.draw();
  }

  disconnectedCallback() {
    document.removeEventListener("keydown", this.press);
  }

  draw() {
    this.querySelector(".keys").hidden = !this.choice.checked;
    this.opener.hidden = this.choice.checked;
  }

  pressed(event) {
    const busy = event.target.closest("input, select, textarea, dialog, [contenteditable]");
    if (busy || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const acts = { j: () => this.move(1), k: () => this.move(-1), o: () => this.here()?.click(), c: () => this.claim() };
    const also = { "/": () => document.getElementById("q").focus(), "?": () => this.dialog.showModal() };
    const act = { ...acts, ...also }[event.key];
    if (!act || !this.choice.checked) return;
    event.preventDefault();
    act();
  }

  links() {
    return [...document.querySelectorAll(".row h2 a")];
  }

  here() {
    return document.activeElement.closest(".row")?.querySelector("h2 a");
  }

  move(step) {
    const links = this.links();
    const place = links.indexOf(this.here());
    links[place < 0 ? 0 : Math.min(Math.max(place + step, 0), links.length - 1)]?.focus();
  }

  claim() {
    document.activeElement.closest(".row")?.querySelector("[data-key=c]")?.click();
  }
}

customElements.define("key-shortcuts", KeyShortcuts);
