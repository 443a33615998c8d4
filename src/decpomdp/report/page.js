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
      const view = one(".view", figure);
      figure.classList.toggle("wider", view.clientWidth > 0 && view.scrollWidth > view.clientWidth + 1);
    };
    const fit = () => {
      const room = one(".view", figure).clientWidth - 12;
      zoom = room > 0 ? Math.max(0.65, Math.min(1, room / wide, 860 / high)) : 1;
      draw();
      const start = one(".start", graph), view = one(".view", figure);
      if (start && wide * zoom > room) {
        const at = start.getBoundingClientRect().left - graph.getBoundingClientRect().left;
        view.scrollLeft = at - room / 2;
      }
    };
    fit();
    for (let around = figure.closest("details"); around; around = around.parentNode.closest("details")) {
      around.addEventListener("toggle", fit, { once: true });
    }
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
  const slider = one("#step"), choice = one("#episode"), now = one("#now");
  let episode = 0, step = 0, timer = null;

  const sum = (rewards, last) => rewards.slice(0, last + 1).reduce((total, r, t) => total + r * told.discount ** t, 0);
  told.episodes.forEach((played, k) => {
    const name = played.number === undefined ? k + 1 : "no. " + played.number;
    const option = element("option", name + " (return " + short(Number(sum(played.rewards, Infinity).toFixed(2))) + ")");
    option.value = k;
    choice.append(option);
  });
  // a card per agent, or one for the agent that is chosen
  const follow = (card) => {
    const small = one(".small", card), graph = document.getElementById("run-agent" + card.dataset.agent);
    if (!small) return;
    small.style.display = graph ? "" : "none";
    if (!graph) return;
    const box = graph.ownerSVGElement.dataset.main;
    small.setAttribute("viewBox", box);
    small.style.maxWidth = 1.2 * Number(box.split(" ")[2]) + "px"; // a graph of one node need not be a poster
    one("use", small).setAttribute("href", "#" + graph.id);
  };
  const cards = all(".card"), whose = one("#agent");
  cards.forEach(follow);
  const choose = (agent) => {
    whose.value = agent;
    cards[0].dataset.agent = agent;
    follow(cards[0]);
    show();
  };
  if (whose) whose.addEventListener("change", () => choose(whose.value));

  // the drawing: every change of every part takes one of its values
  const drawn = one("#moving"), caption = one("#caption"), moving = told.moving;
  const parts = drawn ? all("[data-part]", drawn) : [];
  const applied = {
    display: (part, value) => part.setAttribute("display", value ? "inline" : "none"),
    move: (part, value) => { part.style.transform = `translate(${value[0]}px, ${value[1]}px)`; },
    turn: (part, value) => one(".turning", part).setAttribute("transform", `rotate(${value})`),
    x2: (part, value) => one("line", part).setAttribute("x2", value),
    y2: (part, value) => one("line", part).setAttribute("y2", value),
  };
  const paint = () => {
    const words = moving.captions[episode][step];
    for (const [part, what, choices, places] of moving.changes) applied[what](parts[part], choices[places[episode][step]]);
    drawn.setAttribute("aria-label", words);
    caption.textContent = words;
    for (const part of parts) part.classList.toggle("chosen", Boolean(whose) && part.dataset.agent === cards[0].dataset.agent);
  };
  if (whose) {
    for (const part of parts.filter((one) => one.dataset.agent !== undefined)) {
      part.classList.add("choosable");
      const title = shape("title", {});
      title.textContent = told.agents[part.dataset.agent].name;
      part.prepend(title);
      part.addEventListener("click", () => choose(part.dataset.agent));
    }
  }

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
    if (moving) paint();
    else if (told.states) one("#state").textContent = told.states[played.states[step]];
    for (const made of all(".node.here, .link.went")) made.classList.remove("here", "went");
    for (const card of cards) {
      const n = card.dataset.agent, agent = told.agents[n], seen = played.seen[step][n];
      one("[data-what=seen]", card).textContent = seen < 0 ? "nothing yet" : agent.observations[seen];
      one("[data-what=node]", card).textContent = played.nodes[step][n];
      one("[data-what=action]", card).textContent = agent.actions[played.actions[step][n]];
    }
    played.nodes[step].forEach((node, n) => {
      const graph = document.getElementById("run-agent" + n);
      const here = graph && one(`.node[data-node="${node}"]`, graph);
      if (here) here.classList.add("here");
      const went = step && graph && one(`.link[data-from="${played.nodes[step - 1][n]}"][data-to="${node}"]`, graph);
      if (went) went.classList.add("went");
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
  // keys work wherever one is on the page (it has one replay), but for what has a use of its own for them
  document.addEventListener("keydown", (event) => {
    const key = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", " ": "play" }[event.key];
    const own = "input, select, textarea, .view" + (event.key === " " ? ", button, a, summary" : "");
    const taken = event.target !== slider && event.target instanceof Element && event.target.closest(own);
    if (!key || taken || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (key !== "play" || !event.repeat) moves[key]();
  });
  begin();
})();
