/* <steady-list>: reads itself again when there is news, and nothing moves or vanishes under a hand.

   The line under the pointer or with the focus stays where it is on the screen, whatever comes above it. Lines that
   are over stay in their place, named as over, until nobody has looked at them for a while. */

const KEEP = 20_000;

class SteadyList extends HTMLElement {
  connectedCallback() {
    this.over = new Map();
    this.before = (event) => event.target === this && this.hold();
    this.after = () => this.settle();
    document.body.addEventListener("htmx:before:swap", this.before);
    document.body.addEventListener("htmx:after:swap", this.after);
    this.settle();
  }

  disconnectedCallback() {
    document.body.removeEventListener("htmx:before:swap", this.before);
    document.body.removeEventListener("htmx:after:swap", this.after);
  }

  /* The line somebody is at, and where it stands. */
  hold() {
    const row = this.querySelector(".row:focus-within") || this.querySelector(".row:hover");
    this.held = row && { id: row.id, top: row.getBoundingClientRect().top };
    this.forget();
  }

  settle() {
    const row = this.held && document.getElementById(this.held.id);
    if (row) window.scrollBy({ top: row.getBoundingClientRect().top - this.held.top, behavior: "instant" });
    this.held = null;
    for (const gone of this.querySelectorAll(".row-gone")) if (!this.over.has(gone.id)) this.over.set(gone.id, Date.now());
  }

  /* Lines that were over long enough are not asked for again, unless somebody is at them. */
  forget() {
    for (const [id, since] of this.over) {
      const row = document.getElementById(id);
      const looked = row?.matches(":hover, :focus-within");
      if (!row) this.over.delete(id);
      else if (!looked && Date.now() - since > KEEP) row.querySelector(".told")?.remove();
    }
  }
}

customElements.define("steady-list", SteadyList);
