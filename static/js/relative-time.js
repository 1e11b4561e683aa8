/* <relative-time>: ticks the words of a deadline by the server's clock, by the rules of approvals/remaining.py. */

const SOON = 600;
const NOW = 120;

const clock = document.querySelector('meta[name="clock"]');
const ahead = clock ? Date.parse(clock.content) - Date.now() : 0;

function filled(words, values) {
  return words.replace(/%\((\w)\)d/g, (_whole, name) => values[name]);
}

function words(seconds) {
  const say = clock.dataset;
  const minutes = Math.floor(seconds / 60);
  if (seconds <= 0) return say.over;
  if (seconds < 60) return filled(say.second, { s: seconds });
  if (seconds <= NOW) return filled(say.soon, { m: minutes, s: seconds % 60 });
  if (minutes < 60) return filled(say.minute, { m: minutes });
  if (minutes < 1440) return filled(say.hour, { h: Math.floor(minutes / 60), m: minutes % 60 });
  return filled(say.day, { d: Math.floor(minutes / 1440), h: Math.floor(minutes / 60) % 24 });
}

function level(seconds) {
  if (seconds <= 0) return "over";
  if (seconds <= NOW) return "now";
  return seconds <= SOON ? "soon" : "";
}

class RelativeTime extends HTMLElement {
  connectedCallback() {
    this.tick();
  }

  disconnectedCallback() {
    clearTimeout(this.timer);
  }

  tick() {
    const time = this.querySelector("time");
    if (!time || !clock) return;
    const left = Math.floor((Date.parse(time.dateTime) - Date.now() - ahead) / 1000);
    const said = words(left);
    if (time.textContent !== said) time.textContent = said;
    for (const name of ["soon", "now", "over"]) this.classList.toggle(`deadline-${name}`, level(left) === name);
    if (left > 0) this.timer = setTimeout(() => this.tick(), left > NOW + 60 ? 15_000 : 1_000);
    else if (this.timer) this.over();
  }

  /* Running out writes no entry in the trail, so nobody but the clock can tell the page. */
  over() {
    this.timer = 0;
    for (const name of ["queue", "case"]) document.body.dispatchEvent(new CustomEvent(`live:${name}`));
  }
}

customElements.define("relative-time", RelativeTime);
