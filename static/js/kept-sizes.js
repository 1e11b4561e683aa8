/* A field that somebody made larger keeps its size when its part of the page is drawn again.

   htmx would copy the `style` attribute to what comes, as text, and our content policy refuses that. So it is taken
   away before htmx looks, and given back as properties, which the policy allows. */

const sizes = new Map();

document.addEventListener("htmx:before:swap", () => {
  for (const field of document.querySelectorAll("[id][style]")) {
    sizes.set(field.id, field.style.cssText);
    field.removeAttribute("style");
  }
});

document.addEventListener("htmx:after:swap", () => {
  for (const [id, size] of sizes) {
    const field = document.getElementById(id);
    if (field) field.style.cssText = size;
  }
  sizes.clear();
});
