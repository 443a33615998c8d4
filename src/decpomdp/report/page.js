"use strict";
(() => {
  const all = (what, where = document) => Array.from(where.querySelectorAll(what));
  const one = (what, where = document) => where.querySelector(what);
  const shape = (name, attributes, ...inside) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const element = (name, words, className) => {
    const made = document.createElement(name);
    made.textContent = words;
    if (className) made.className = className;
    return made;
  };
  const short = (value) => String(Number(value.toPrecision(6)));

  // light or dark, whatever the system prefers
  one("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // curves: what they are drawn against, and numbers under the pointer
  for (const button of all(".choice button")) {
    button.addEventListener("click", () => {
      button.closest(".curves").dataset.axis = button.dataset.axis;
      for (const other of all("button", button.parentNode)) other.setAttribute("aria-pressed", String(other === button));
    });
  }
  for (const chart of all(".chart")) {
    const [x0, x1, y0, y1] = chart.dataset.range.split(" ").map(Number);
    const [left, top, wide, high] = chart.dataset.frame.split(" ").map(Number);
    const lines = all(".curve", chart).map((path) => ({
      name: path.dataset.name || "",
      points: path.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ").map(Number)),
    }));
    const cross = one(".cross", chart), figure = chart.closest("figure");
    const tip = element("div", "", "tip");
    tip.hidden = true;
    figure.append(tip);
    const leave = () => { tip.hidden = true; cross.style.display = "none"; };
    chart.addEventListener("pointerleave", leave);
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect(), scale = box.width / 420;
      const x = (event.clientX - box.left) / scale - left;
      if (x < -4 || x > wide + 4) return leave();
      const nearest = lines.map((line) => line.points.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a)));
      const said = nearest.map((point, k) => {
        const value = y1 - (point[1] / high) * (y1 - y0);
        return (lines[k].name ? lines[k].name + "  " : "") + Number(value.toPrecision(4));
      });
      const at = x0 + (nearest[0][0] / wide) * (x1 - x0);
      tip.textContent = [figure.dataset.axis + "  " + Number(at.toPrecision(4)).toLocaleString("en"), ...said].join("\n");
      cross.style.display = "inline";
      cross.firstChild.setAttribute("x1", left + nearest[0][0]);
      cross.firstChild.setAttribute("x2", left + nearest[0][0]);
      tip.hidden = false;
      const room = figure.clientWidth - tip.offsetWidth - 8, wish = chart.offsetLeft + event.clientX - box.left + 14;
      tip.style.left = Math.max(4, Math.min(wish, room)) + "px";
      tip.style.top = event.clientY - figure.getBoundingClientRect().top - tip.offsetHeight - 12 + "px";
    });
  }

  // graphs: zoom, faint moves, the links of the node under the pointer
  for (const figure of all(".controller")) {
    const graph = one(".graph", figure);
    if (!graph) continue;
    const drawing = one(".drawing", graph);
    const [, , wide, high] = graph.getAttribute("viewBox").split(" ").map(Number);
    let zoom = 1;
    const draw = () => {
      graph.setAttribute("width", Math.round(wide * zoom));
      graph.setAttribute("height", Math.round(high * zoom));
    };
    const fit = () => {
      const room = one(".view", figure).clientWidth - 12;
      zoom = room > 0 ? Math.max(0.8, Math.min(1, room / wide)) : 1;
      draw();
      const start = one(".start", graph), view = one(".view", figure);
      if (start && wide * zoom > room) {
        const at = start.getBoundingClientRect().left - graph.getBoundingClientRect().left;
        view.scrollLeft = at - room / 2;
      }
    };
    fit();
    const around = figure.closest("details.run");
    if (around) around.addEventListener("toggle", fit, { once: true });
    for (const button of all("[data-zoom]", figure)) {
      button.addEventListener("click", () => {
        const step = Number(button.dataset.zoom);
        zoom = step ? Math.max(0.25, Math.min(3, zoom * (step > 0 ? 1.25 : 0.8))) : 1;
        draw();
      });
    }
    const rare = one("[data-rare]", figure);
    if (rare) rare.addEventListener("change", () => drawing.classList.toggle("with-rare", rare.checked));
    for (const node of all(".node", graph)) {
      const mine = all(".link", graph).filter((link) => link.dataset.from === node.dataset.node);
      const ask = (asked) => () => {
        drawing.classList.toggle("asked", asked);
        for (const link of mine) link.classList.toggle("mine", asked);
      };
      node.addEventListener("pointerenter", ask(true));
      node.addEventListener("pointerleave", ask(false));
    }
  }

  // the replay
  const stored = one("#replay-data");
  if (!stored) return;
  const told = JSON.parse(stored.textContent);
  const player = one("#player"), slider = one("#step"), choice = one("#episode"), now = one("#now"), scene = one("#scene");
  const CELL = 90;
  let episode = 0, step = 0, timer = null;

  const sum = (rewards, last) => rewards.slice(0, last + 1).reduce((total, r, t) => total + r * told.discount ** t, 0);
  told.episodes.forEach((played, k) => {
    const name = played.number === undefined ? k + 1 : "no. " + played.number;
    const option = element("option", name + " (return " + short(Number(sum(played.rewards, Infinity).toFixed(2))) + ")");
    option.value = k;
    choice.append(option);
  });
  for (const card of all(".card")) {
    const small = one(".small", card);
    if (!small) continue;
    const graph = document.getElementById("run-agent" + card.dataset.agent);
    small.setAttribute("viewBox", graph.ownerSVGElement.getAttribute("viewBox"));
  }

  const robots = new Map();
  const picture = told.picture;
  const caption = element("p", "", "label");
  let svg = null, still = null;
  if (picture) {
    svg = shape("svg", { viewBox: `-2 -2 ${picture.columns * CELL + 4} ${picture.rows * CELL + 4}`, role: "img" });
    for (let r = 0; r < picture.rows; r++) {
      for (let c = 0; c < picture.columns; c++) {
        svg.append(shape("rect", { class: "cell", x: c * CELL, y: r * CELL, width: CELL, height: CELL }));
      }
    }
    still = shape("g", {});
    svg.append(still);
    scene.append(svg, caption);
  } else if (told.states) {
    const plain = element("div", "state", "plain");
    plain.append(element("b", ""));
    scene.append(plain);
    one(".stage").classList.add("plainly");
  } else {
    one(".stage").classList.add("alone");
    scene.remove();
  }

  const label = (x, y, words, size, className) => {
    const made = shape("text", { x, y, "font-size": size, class: className || "" });
    made.textContent = words;
    return made;
  };
  const draws = {
    zone: (t) => [
      shape("rect", { class: "zone", x: t.column * CELL + 1, y: t.row * CELL + 1, width: t.width * CELL - 2, height: CELL - 2 }),
      label(t.column * CELL + 26, t.row * CELL + 20, t.label, 13),
    ],
    box: (t) => [
      shape("rect", { class: "box", x: t.column * CELL + 14, y: t.row * CELL + 22, width: t.width * CELL - 28, height: CELL - 36, rx: 5 }),
      label((t.column + t.width / 2) * CELL, t.row * CELL + 54, t.label, 13, "onbox"),
    ],
    site: (t) => [
      shape("rect", { class: t.done ? "site done" : "site", x: t.column * CELL + 6, y: t.row * CELL + 6, width: CELL - 12, height: CELL - 12, rx: 10 }),
      label((t.column + 0.5) * CELL, t.row * CELL + 24, t.done ? t.label + " \u2713" : t.label, 12),
    ],
  };
  const robot = (thing) => {
    if (!robots.has(thing.label)) {
      const body = thing.turn === undefined
        ? shape("circle", { r: 17 })
        : shape("path", { class: "turning", d: "M0 -23L19 14Q0 22 -19 14z" });
      const made = shape("g", { class: "robot a" + (thing.label - 1) }, body, label(0, 6, thing.label, 16));
      robots.set(thing.label, made);
      svg.append(made);
    }
    return robots.get(thing.label);
  };
  const paint = (state) => {
    const things = picture.states[state], agents = things.filter((t) => t.kind === "agent");
    still.replaceChildren(...things.filter((t) => t.kind !== "agent").flatMap((t) => draws[t.kind](t)));
    for (const made of robots.values()) made.style.display = "none";
    for (const thing of agents) {
      const beside = agents.filter((t) => t.column === thing.column && t.row === thing.row);
      const shift = beside.length > 1 ? (beside.indexOf(thing) - (beside.length - 1) / 2) * 38 : 0;
      const made = robot(thing);
      made.style.display = "";
      made.style.transform = `translate(${(thing.column + 0.5) * CELL + shift}px, ${(thing.row + 0.5) * CELL + 8}px)`;
      const turning = one(".turning", made);
      if (turning) turning.setAttribute("transform", `rotate(${thing.turn})`);
    }
    svg.setAttribute("aria-label", "state " + told.states[state]);
    caption.textContent = "state " + told.states[state];
  };

  const chart = one("#rewards");
  const bars = () => {
    const rewards = told.episodes[episode].rewards, each = 1000 / rewards.length;
    const largest = Math.max(...rewards, 0), least = Math.min(...rewards, 0), span = largest - least || 1;
    const y = (value) => 4 + ((largest - value) / span) * 76;
    one("#range").textContent = `Reward of every step, from ${short(Math.min(...rewards))} to ${short(Math.max(...rewards))}; choose one to go there.`;
    chart.setAttribute("viewBox", "0 0 1000 84");
    chart.setAttribute("preserveAspectRatio", "none");
    const parts = [shape("rect", { class: "now", y: 0, width: each, height: 84 })];
    rewards.forEach((r, t) => {
      parts.push(shape("rect", {
        class: r < 0 ? "down" : "up", x: t * each + each * 0.15, width: each * 0.7,
        y: Math.min(y(r), y(0)), height: Math.max(Math.abs(y(r) - y(0)), 0.5),
      }));
    });
    parts.push(shape("line", { x1: 0, x2: 1000, y1: y(0), y2: y(0), "vector-effect": "non-scaling-stroke" }));
    rewards.forEach((r, t) => {
      const title = shape("title", {});
      title.textContent = `step ${t}: reward ${short(r)}`;
      const hit = shape("rect", { class: "hit", x: t * each, y: 0, width: each, height: 84 }, title);
      hit.addEventListener("click", () => go(t));
      parts.push(hit);
    });
    chart.replaceChildren(...parts);
  };

  const show = () => {
    const played = told.episodes[episode], rewards = played.rewards;
    slider.value = step;
    slider.setAttribute("aria-valuetext", `step ${step} of ${rewards.length - 1}`);
    now.textContent = `step ${step}: reward ${short(rewards[step])}, sum so far ${short(Number(sum(rewards, step).toFixed(4)))}`;
    one(".now", chart).setAttribute("x", (step * 1000) / rewards.length);
    if (picture) paint(played.states[step]);
    else if (told.states) one(".plain b").textContent = told.states[played.states[step]];
    for (const made of all(".node.here")) made.classList.remove("here");
    told.agents.forEach((agent, n) => {
      const card = one(`.card[data-agent="${n}"]`), seen = played.seen[step][n], node = played.nodes[step][n];
      one("[data-what=seen]", card).textContent = seen < 0 ? "nothing yet" : agent.observations[seen];
      one("[data-what=node]", card).textContent = node;
      one("[data-what=action]", card).textContent = agent.actions[played.actions[step][n]];
      const graph = document.getElementById("run-agent" + n);
      const here = graph && one(`.node[data-node="${node}"]`, graph);
      if (here) here.classList.add("here");
    });
  };
  const go = (wanted) => {
    const last = told.episodes[episode].rewards.length - 1;
    step = Math.max(0, Math.min(last, wanted));
    if (step === last) pause();
    show();
  };
  const icon = one("[data-go=play] path"), playing = icon.getAttribute("d");
  const pause = () => { clearInterval(timer); timer = null; icon.setAttribute("d", playing); };
  const play = () => {
    if (timer) return pause();
    if (step === told.episodes[episode].rewards.length - 1) step = 0;
    timer = setInterval(() => go(step + 1), 700);
    icon.setAttribute("d", "M4 3h3v10H4zM9 3h3v10H9z");
    show();
  };
  const begin = () => {
    pause();
    step = 0;
    slider.max = told.episodes[episode].rewards.length - 1;
    bars();
    show();
  };
  const moves = {
    first: () => go(0), back: () => go(step - 1), play, on: () => go(step + 1), last: () => go(Infinity),
  };
  for (const button of all("[data-go]")) button.addEventListener("click", () => moves[button.dataset.go]());
  slider.addEventListener("input", () => go(Number(slider.value)));
  choice.addEventListener("change", () => { episode = Number(choice.value); begin(); });
  player.addEventListener("keydown", (event) => {
    const key = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", " ": "play" }[event.key];
    const typing = event.target === choice || (event.key === " " && event.target.tagName === "BUTTON");
    if (!key || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[key]();
  });
  begin();
})();
