/* <live-feed topics="queue case:C-…" cursor="12">: tells the page's fragments that they have news.

   The socket says only "this topic changed"; here that becomes the event `live:<topic>` on <body>, and the fragments
   that wait for it read themselves again. Without a socket the same events come every ten seconds (behind
   another tab browsers make that a minute). A socket that does not answer is none: it may be lost without a word. */

const POLL = 9_000;
const [ASK, ANSWER] = [25_000, 10_000];
const GATHER = 300;
const RETRY = [500, 1_000, 2_000, 5_000, 10_000];

class LiveFeed extends HTMLElement {
  connectedCallback() {
    this.topics = this.getAttribute("topics").split(" ").filter(Boolean);
    this.cursor = Number(this.getAttribute("cursor"));
    this.tries = 0;
    this.pending = new Set();
    if (!this.topics.length) return;
    this.wake = () => document.hidden || (this.state === "live" ? this.ask() : this.refresh());
    document.addEventListener("visibilitychange", this.wake);
    this.poll = setInterval(() => this.state === "live" || this.refresh(), POLL);
    this.asking = setInterval(() => this.ask(), ASK);
    this.open();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.wake);
    for (const timer of [this.poll, this.asking, this.retry, this.deaf]) clearTimeout(timer);
    this.gone = true;
    this.socket?.close();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/live/`);
    this.socket.addEventListener("open", () => {
      this.socket.send(JSON.stringify({ topics: this.topics, cursor: this.cursor }));
      if (this.tries) this.refresh();
      this.tries = 0;
      this.show("live");
    });
    this.socket.addEventListener("message", (message) => {
      clearTimeout(this.deaf);
      const { topic, seq } = JSON.parse(message.data);
      if (!topic) return;
      this.cursor = Math.max(this.cursor, seq);
      this.announce(topic);
    });
    this.socket.addEventListener("close", (closed) => closed.target === this.socket && this.lost(closed.code));
  }

  ask() {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.socket.send(JSON.stringify({ ping: true }));
    clearTimeout(this.deaf);
    this.deaf = setTimeout(() => (this.socket?.close(), this.lost(0)), ANSWER);
  }

  lost(code) {
    clearTimeout(this.deaf);
    this.socket = null;
    if (this.gone) return;
    const final = code >= 4400 && code < 4500; // signed out or refused: reading again shows the sign-in page
    this.show(final || this.tries > 3 ? "polling" : "lost");
    if (final) return;
    this.retry = setTimeout(() => this.open(), RETRY[Math.min(this.tries, RETRY.length - 1)]);
    this.tries += 1;
  }

  /* The first news goes out at once, what follows closely goes out together. */
  announce(topic) {
    this.pending.add(topic);
    if (this.gathering) return;
    this.flush();
    this.gathering = setTimeout(() => {
      this.gathering = 0;
      this.flush();
    }, GATHER);
  }

  flush() {
    const names = new Set([...this.pending].map((topic) => topic.split(":")[0]));
    this.pending.clear();
    for (const name of names) document.body.dispatchEvent(new CustomEvent(`live:${name}`));
  }

  refresh() {
    this.pending = new Set(this.topics);
    this.flush();
  }

  show(state) {
    this.state = state;
    this.dataset.state = state;
    this.querySelector(".live").hidden = false;
    this.querySelector(".live-word").textContent = this.dataset[state];
  }
}

customElements.define("live-feed", LiveFeed);
