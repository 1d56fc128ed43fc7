// Puts the page together: filters, keys, and the place in the address.

const search = document.getElementById("search");
const order = document.getElementById("order");
const help = document.getElementById("help");
const countButtons = [...document.querySelectorAll(".count")];

document.querySelector("main").hidden = false;
for (const id of ["search", "help-button"]) document.getElementById(id).hidden = false;
document.getElementById("sorting").hidden = states.every((state) => state.kind === "planned"); // in serial order

const list = new StateList(document.getElementById("list"));
const timeline = new Timeline(document.getElementById("timeline"));
const dag = new Graph(document.getElementById("graph"));

for (const button of countButtons) {
  button.disabled = false;
  button.addEventListener("click", () => choice.toggle(button.dataset.kind));
}
search.addEventListener("input", () => choice.search(search.value));
order.addEventListener("change", () => choice.sort(order.value));
document.getElementById("help-button").addEventListener("click", () => help.showModal());

choice.on("filter", () => {
  for (const button of countButtons) button.setAttribute("aria-pressed", choice.kinds.has(button.dataset.kind));
  const number = choice.shown.length.toLocaleString("en");
  const all = states.length.toLocaleString("en");
  document.getElementById("shown").textContent = choice.isFiltered ? `${number} of ${all} states` : "";
});

let address = 0;

choice.on("select", () => {
  clearTimeout(address); // some browsers refuse many changes in a short time
  address = setTimeout(() => {
    const place = isState(choice.selected) ? `#state=${choice.selected}` : "#";
    if (location.hash !== place) history.replaceState(null, "", place);
  }, 200);
});

function resetFilter() {
  choice.kinds.clear();
  search.value = "";
  choice.search("");
}

function showAddressed(hash) {
  const found = /^#state=(\d+)$/.exec(hash);
  if (found && isState(Number(found[1]))) choose(Number(found[1]));
}

// The picture that keys zoom: that which has the focus, else the graph.
function picture() {
  return document.activeElement === timeline.canvas ? timeline : dag;
}

function leave() {
  if (document.activeElement === search && !search.value) search.blur();
  else if (choice.isFiltered) resetFilter();
  else if (choice.selected >= 0) choice.select(-1, "keys");
}

const KEYS = {
  "/": () => { search.focus(); search.select(); },
  "?": () => help.showModal(),
  j: () => list.step(1),
  k: () => list.step(-1),
  ArrowDown: () => list.step(1),
  ArrowUp: () => list.step(-1),
  Home: () => list.step(-states.length),
  End: () => list.step(states.length),
  f: () => list.stepTo("failed"),
  "+": () => picture().zoom(1.5),
  "=": () => picture().zoom(1.5),
  "-": () => picture().zoom(1 / 1.5),
  0: () => picture().fit(),
  Enter: () => { if (isState(choice.selected)) list.toggle(choice.selected); },
  Escape: leave,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || help.open) return;
  const { target } = event;
  if (target === search && !["Escape", "Enter", "ArrowDown"].includes(event.key)) return;
  if (target.closest("select")) return;
  if (event.key === "Enter" && target !== search && target !== document.body && target.tagName !== "CANVAS") return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  if (target === search && event.key === "Enter") list.step(0);
  else act();
});

addEventListener("hashchange", (event) => showAddressed(new URL(event.newURL).hash)); // the address may be older by now

for (let number = 0, left = 5; number < states.length && left > 0; number += 1) {
  if (states[number].kind !== "failed") continue;
  list.open.set(number, 200);
  left -= 1;
}
choice.filter();
showAddressed(location.hash);
