/* <quiet-news>: says aloud what changed in the queue, politely and seldom, and tells it outside the page on wish.

   However much happens, it is one sentence in ten seconds, and one notification that replaces the one before. What is
   new is counted from the newest task that was told of. */

const SELDOM = 10_000;
const STORE = "countersign.notices";

class QuietNews extends HTMLElement {
  static observedAttributes = ["data-said", "data-newest"];

  connectedCallback() {
    this.button = this.querySelector("button");
    this.button.addEventListener("click", () => this.wish());
    this.button.hidden = !("Notification" in window) || Notification.permission === "denied";
    this.draw();
  }

  attributeChangedCallback() {
    if (!this.isConnected || !this.button || !this.dataset.said) return;
    this.text = this.dataset.said; // what follows before it is said may be nothing again
    if (this.waiting) return;
    this.waiting = setTimeout(() => this.say(), Math.max(0, (this.said || 0) + SELDOM - Date.now()));
  }

  say() {
    this.waiting = 0;
    this.said = Date.now();
    this.querySelector("[role=status]").textContent = this.text;
    this.querySelector(".told").value = this.dataset.newest;
    if (Number(this.dataset.arrived) && document.hidden && this.wanted()) this.notify();
  }

  notify() {
    const notice = new Notification(this.dataset.app, { body: this.text, tag: "queue" });
    notice.addEventListener("click", () => {
      window.focus();
      notice.close();
    });
  }

  async wish() {
    const wanted = !this.wanted() && (await Notification.requestPermission()) === "granted";
    localStorage.setItem(STORE, wanted ? "on" : "off");
    this.draw();
  }

  wanted() {
    if (!("Notification" in window) || Notification.permission !== "granted") return false;
    return (localStorage.getItem(STORE) ?? this.dataset.wanted) === "on"; // what this device was told counts more
  }

  draw() {
    this.button.textContent = this.wanted() ? this.button.dataset.on : this.button.dataset.off;
    this.button.setAttribute("aria-pressed", String(this.wanted()));
  }
}

customElements.define("quiet-news", QuietNews);
