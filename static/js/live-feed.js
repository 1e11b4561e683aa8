/* <live-feed topics="queue case:C-…" cursor="12">: tells the page's fragments that they have news.

   The socket says only "this topic changed"; here that becomes the event `live:<topic>` on <body>, and the fragments
   that wait for it read themselves again. Without a socket the same events come every ten seconds. */

const POLL = 10_000;
const GATHER = 300;
const RETRY = [500, 1_000, 2_000, 5_000, 10_000];

class LiveFeed extends HTMLElement {
  connectedCallback() {
    this.topics = this.getAttribute("topics").split(" ").filter(Boolean);
    this.cursor = Number(this.getAttribute("cursor"));
    this.tries = 0;
    this.pending = new Set();
    if (!this.topics.length) return;
    this.wake = () => document.visibilityState === "visible" && this.state !== "live" && this.refresh();
    document.addEventListener("visibilitychange", this.wake);
    this.poll = setInterval(() => this.state === "live" || document.hidden || this.refresh(), POLL);
    this.open();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.wake);
    clearInterval(this.poll);
    clearTimeout(this.retry);
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
      const { topic, seq } = JSON.parse(message.data);
      this.cursor = Math.max(this.cursor, seq);
      this.announce(topic);
    });
    this.socket.addEventListener("close", (closed) => this.lost(closed.code));
  }

  lost(code) {
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
    for (const topic of this.topics) this.pending.add(topic);
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
