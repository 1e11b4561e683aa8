/* <branch-pick>: another branch has other fields. The button beside the choice lays them out; here it presses itself. */

class BranchPick extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.button.hidden = true;
    this.press = () => this.button.click();
    this.addEventListener("change", this.press);
  }

  disconnectedCallback() {
    this.removeEventListener("change", this.press);
  }
}

customElements.define("branch-pick", BranchPick);
