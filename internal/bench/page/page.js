"use strict";
// Sorts and filters the tables. Without this they stand as they were written.
for (const box of document.querySelectorAll(".cases")) {
  const table = box.querySelector("table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.querySelectorAll("th[data-c]")];
  const words = new Intl.Collator("en", { numeric: true });

  // key is what a row is sorted by: a number, a text, or null, which is always last.
  const key = (row, head) => {
    const cell = row.cells[head.dataset.c];
    if (head.classList.contains("n")) return "k" in cell.dataset ? +cell.dataset.k : null;
    return cell.textContent || null;
  };
  const sort = (head) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const h of heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row) => [key(row, head), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = typeof a === "number" ? a - b : words.compare(a, b);
      return down ? -order : order;
    });
    body.append(...keyed.map(([, row]) => row));
  };
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }

  const controls = box.querySelector(".controls");
  const [input, select, output] = ["input", "select", "output"].map((n) => controls.querySelector(n));
  const texts = heads.filter((h) => "find" in h.dataset).map((h) => +h.dataset.c);
  const haystack = new Map(rows.map((row) => [row, texts.map((i) => row.cells[i].textContent).join(" ").toLowerCase()]));
  const filter = () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const ofClass = !select.selectedIndex || row.cells[1].textContent === select.value;
      row.hidden = !(ofClass && wanted.every((w) => haystack.get(row).includes(w)));
      shown += !row.hidden;
    }
    output.value = shown === rows.length ? `${shown} cases` : `${shown} of ${rows.length} cases`;
  };
  input.addEventListener("input", filter);
  select.addEventListener("change", filter);
  filter(); // a browser that goes back may keep what was typed
  controls.hidden = false;
}
