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

  // light or dark, overriding the system's preference
  one("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // curves against the chosen axis, with numbers under the pointer
  const stepFor = (span, about) => {
    const rough = span / about, power = 10 ** Math.floor(Math.log10(rough)), off = (step) => Math.abs(Math.log(step / rough));
    return [1, 2, 5, 10].map((m) => m * power).reduce((a, b) => (off(b) < off(a) ? b : a));
  };
  const ticks = (low, high, step) => {
    const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
  };
  const tickLabel = (value, step) => { // in thousands, millions ... where that is shorter
    if (Math.abs(value) >= 1e12 || step < 1e-6) return short(Number(value.toPrecision(3)));
    const digits = (unit) => (value ? Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9)) : 0);
    const units = [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"], [0, 1, ""]].filter(([least]) => Math.abs(value) >= least);
    return units.map(([, unit, letter]) => (value / unit).toFixed(digits(unit)) + letter).reduce((a, b) => (b.length < a.length ? b : a));
  };
  const [width, height, left, right, top, bottom] = [420, 220, 60, 12, 10, 34];
  const wide = width - left - right, high = height - top - bottom;

  const drawChart = (chart, { range: [y0, y1], whole, curves }, axis, words) => {
    const every = curves.flatMap((curve) => curve.x[axis]);
    let x0 = every.reduce((a, b) => Math.min(a, b)), x1 = every.reduce((a, b) => Math.max(a, b));
    if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1];
    const across = (x) => ((x - x0) / (x1 - x0)) * wide;
    const up = (y) => Math.max(-9999, Math.min(9999, high - ((y - y0) / (y1 - y0)) * high));
    const line = (attributes, ...classes) => shape("line", { class: classes.join(" "), ...attributes });
    const text = (said, attributes) => shape("text", attributes, said);
    const path = (points, look) => shape("path", { class: look, d: "M" + points.map((point) => point.map((v) => v.toFixed(1)).join(" ")).join("L") });
    const grid = shape("g", { class: "grid" });
    const yStep = Math.max(stepFor(y1 - y0, 4), whole ? 1 : 0), xStep = Math.max(stepFor(x1 - x0, 5), axis === "seconds" ? 0 : 1);
    for (const value of ticks(y0, y1, yStep)) {
      const y = top + up(value);
      grid.append(line({ x1: left, x2: width - right, y1: y, y2: y }), text(tickLabel(value, yStep), { x: left - 7, y: y + 4, "text-anchor": "end" }));
    }
    for (const value of ticks(x0, x1, xStep)) {
      const x = left + across(value), y = height - bottom;
      grid.append(line({ x1: x, x2: x, y1: y, y2: y + 4 }, "tick"), text(tickLabel(value, xStep), { x, y: y + 16, "text-anchor": "middle" }));
    }
    const plot = shape("svg", { class: "plot", x: left, y: top, width: wide, height: high }); // clips its content
    const dots = shape("g", { transform: `translate(${left} ${top})` });
    for (const curve of curves) {
      const xs = curve.x[axis].map(across), points = curve.y.map((y, k) => [xs[k], up(y)]);
      if (curve.error) {
        const edge = (side) => curve.y.map((y, k) => [xs[k], up(y + side * curve.error[k])]);
        plot.append(path([...edge(2), ...edge(-2).reverse()], `band ${curve.look}`));
      }
      plot.append(path(points, `curve ${curve.look}${curve.dashed ? " dashed" : ""}`));
      const few = points.length <= 12 ? points.filter(([, y]) => y >= 0 && y <= high) : [];
      dots.append(...few.map(([cx, cy]) => shape("circle", { class: `dot ${curve.look}`, cx, cy, r: 2.6 })));
    }
    const axisWords = text(words, { class: "axis", x: width - right, y: height - 3, "text-anchor": "end" });
    chart.replaceChildren(grid, axisWords, plot, dots, shape("line", { class: "cross", y1: top, y2: top + high }));
    const figure = chart.closest("figure"), tip = one(".tip", figure) || element("div", "", "tip"), cross = one(".cross", chart);
    const leave = () => { tip.hidden = true; cross.style.display = "none"; };
    figure.append(tip);
    leave();
    chart.onpointerleave = leave;
    chart.onpointermove = (event) => {
      const box = chart.getBoundingClientRect(), x = ((event.clientX - box.left) * width) / box.width - left;
      if (x < -4 || x > wide + 4) return leave();
      const near = curves.map((curve) => curve.x[axis].reduce((best, at, k) => (Math.abs(across(at) - x) < Math.abs(across(curve.x[axis][best]) - x) ? k : best), 0));
      const at = curves[0].x[axis][near[0]];
      const said = curves.map((curve, c) => (curve.name ? curve.name + "  " : "") + Number(curve.y[near[c]].toPrecision(4)));
      tip.textContent = [axis + "  " + Number(at.toPrecision(4)).toLocaleString("en"), ...said].join("\n");
      cross.style.display = "inline";
      for (const end of ["x1", "x2"]) cross.setAttribute(end, left + across(at));
      tip.hidden = false;
      const room = figure.clientWidth - tip.offsetWidth - 8, wish = chart.offsetLeft + event.clientX - box.left + 14;
      tip.style.left = Math.max(4, Math.min(wish, room)) + "px";
      tip.style.top = event.clientY - figure.getBoundingClientRect().top - tip.offsetHeight - 12 + "px";
    };
  };
  if (one("#curves-data")) {
    const { axes, charts } = JSON.parse(one("#curves-data").textContent), buttons = all(".choice button");
    const against = (axis) => {
      all(".chart").forEach((chart, k) => drawChart(chart, charts[k], axis, axes[axis]));
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.axis === axis));
    };
    for (const button of buttons) button.addEventListener("click", () => against(button.dataset.axis));
    against(Object.keys(axes)[0]);
  }

  // graphs: zoom, the links of the node under the pointer
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
      zoom = room > 0 ? Math.max(0.65, Math.min(1, room / wide, Math.max(0.8, 860 / high))) : 1;
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
  const recorded = JSON.parse(stored.textContent);
  const slider = one("#step"), choice = one("#episode"), now = one("#now");
  let episode = 0, step = 0, timer = null;

  const sum = (rewards, last) => rewards.slice(0, last + 1).reduce((total, r, t) => total + r * recorded.discount ** t, 0);
  recorded.episodes.forEach((played, k) => {
    const name = played.number === undefined ? k + 1 : "no. " + played.number;
    const option = element("option", name + " (return " + short(Number(sum(played.rewards, Infinity).toFixed(2))) + ")");
    option.value = k;
    choice.append(option);
  });
  // a card per agent, or one for the agent that is chosen
  const cards = all(".card"), whose = one("#agent");
  const follow = () => {
    for (const graph of all(".graph-of")) graph.hidden = graph.dataset.agent !== graph.closest(".card").dataset.agent;
  };
  const choose = (agent) => {
    whose.value = agent;
    cards[0].dataset.agent = agent;
    follow();
    show();
  };
  follow();
  if (whose) whose.addEventListener("change", () => choose(whose.value));

  // the drawing: set every change of every part to its value in this step
  const drawn = one("#moving"), caption = one("#caption"), moving = recorded.moving;
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
      title.textContent = recorded.agents[part.dataset.agent].name;
      part.prepend(title);
      part.addEventListener("click", () => choose(part.dataset.agent));
    }
  }

  const chart = one("#rewards");
  const bars = () => {
    const rewards = recorded.episodes[episode].rewards, each = 1000 / rewards.length;
    const largest = Math.max(...rewards, 0), least = Math.min(...rewards, 0), span = largest - least || 1;
    const y = (value) => 4 + ((largest - value) / span) * 76;
    const [low, most] = [Math.min(...rewards), Math.max(...rewards)].map(short);
    one("#range").textContent = `Reward of every step, ${low === most ? `always ${low}` : `from ${low} to ${most}`}; click one to go there.`;
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
    const played = recorded.episodes[episode], rewards = played.rewards;
    slider.value = step;
    slider.setAttribute("aria-valuetext", `step ${step} of ${rewards.length - 1}`);
    now.textContent = `step ${step}: reward ${short(rewards[step])}, sum so far ${short(Number(sum(rewards, step).toFixed(4)))}`;
    one(".now", chart).setAttribute("x", (step * 1000) / rewards.length);
    if (moving) paint();
    else if (recorded.states) one("#state").textContent = recorded.states[played.states[step]];
    for (const made of all(".node.here, .link.went")) made.classList.remove("here", "went");
    for (const card of cards) {
      const n = card.dataset.agent, agent = recorded.agents[n], seen = played.seen[step][n];
      one("[data-what=seen]", card).textContent = seen < 0 ? "nothing yet" : agent.observations[seen];
      one("[data-what=node]", card).textContent = played.nodes[step][n];
      one("[data-what=action]", card).textContent = agent.actions[played.actions[step][n]];
    }
    played.nodes[step].forEach((node, n) => {
      for (const graph of all(`#run-agent${n}, #small-agent${n}`)) {
        const here = one(`.node[data-node="${node}"]`, graph);
        const went = step && one(`.link[data-from="${played.nodes[step - 1][n]}"][data-to="${node}"]`, graph);
        if (here) here.classList.add("here");
        if (went) went.classList.add("went");
      }
    });
  };
  const go = (wanted) => {
    document.body.classList.add("moved"); // before the first move nothing is animated
    const last = recorded.episodes[episode].rewards.length - 1;
    step = Math.max(0, Math.min(last, wanted));
    if (step === last) pause();
    show();
  };
  const icon = one("[data-go=play] path"), playing = icon.getAttribute("d");
  const pause = () => { clearInterval(timer); timer = null; icon.setAttribute("d", playing); };
  const play = () => {
    if (timer) return pause();
    if (step === recorded.episodes[episode].rewards.length - 1) step = 0;
    timer = setInterval(() => go(step + 1), 700);
    icon.setAttribute("d", "M4 3h3v10H4zM9 3h3v10H9z");
    show();
  };
  const begin = () => {
    pause();
    step = 0;
    slider.max = recorded.episodes[episode].rewards.length - 1;
    bars();
    show();
  };
  const moves = {
    first: () => go(0), back: () => go(step - 1), play, on: () => go(step + 1), last: () => go(Infinity),
  };
  for (const button of all("[data-go]")) button.addEventListener("click", () => moves[button.dataset.go]());
  slider.addEventListener("input", () => go(Number(slider.value)));
  choice.addEventListener("change", () => { episode = Number(choice.value); begin(); });
  // keys work on the whole page (it has one replay), except in elements that use the same keys
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
