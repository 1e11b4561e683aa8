/* <edit-marks>: shows which arguments differ from the proposal while they are typed, as the server does after a POST. */

function differs(control) {
  if (control.type === "radio" || control.type === "checkbox") return control.checked !== control.defaultChecked;
  if (control.options) return [...control.options].some((option) => option.selected !== option.defaultSelected);
  return control.value !== control.defaultValue;
}

class EditMarks extends HTMLElement {
  connectedCallback() {
    this.form = this.closest("form");
    this.mark = () => this.draw();
    this.form?.addEventListener("input", this.mark);
    this.draw();
  }

  disconnectedCallback() {
    this.form?.removeEventListener("input", this.mark);
  }

  fields() {
    return this.closest("section").querySelectorAll(".field:not(.field .field)");
  }

  draw() {
    for (const field of this.fields()) {
      // What the server marked differs from the proposal already, whatever is typed since.
      field.dataset.marked ??= field.classList.contains("changed");
      if (field.dataset.marked === "true") continue;
      field.classList.toggle("changed", [...field.querySelectorAll("input, select, textarea")].some(differs));
    }
    this.hidden = !this.closest("section").querySelector(".changed");
  }
}

customElements.define("edit-marks", EditMarks);
