"use strict";
// Draws the report from its block of JSON. Text goes into the page as text, never as HTML.
(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);

  function add(parent, tag, attributes = {}, text = null) {
    const drawn = parent.namespaceURI === SVG || tag === "svg";
    const node = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== null) node.textContent = text;
    parent.append(node);
    return node;
  }

  function number(value) {
    if (value === null) return "–";
    const rounded = Number(value.toPrecision(4));
    const size = Math.abs(rounded);
    const text = size > 0 && (size < 1e-3 || size >= 1e6) ? Number(rounded.toPrecision(3)).toExponential() : String(rounded);
    return text.replaceAll("-", "−").replace("e+", "e");
  }

  // The numbers of a column have equal decimals, or powers of ten where these would be too many.
  function aligned(value, decimals) {
    if (value === null) return "–";
    const text = decimals > 6 ? value.toExponential(1) : value.toFixed(decimals);
    return (Number(text) === 0 ? text.replace("-", "") : text).replaceAll("-", "−").replace("e+", "e");
  }

  // Round numbers between two ends.
  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(Number((i * step).toPrecision(12)));
    return found;
  }

  // ---------------------------------------------------------------- charts with two axes

  function frame(parent, { title, x, y, right = 20, xlabel, ylabel, whole = false }) {
    const width = Math.max(280, Math.min(parent.clientWidth || 700, 900));
    const height = Math.round(Math.min(360, 0.62 * width));
    const widest = Math.max(...ticks(...y, 5).map((v) => number(v).length));
    const box = { left: 28 + 7 * widest, right: width - right, top: 14, bottom: height - 40 };
    const svg = add(parent, "svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
    const px = (v) => box.left + ((v - x[0]) / (x[1] - x[0])) * (box.right - box.left);
    const py = (v) => box.bottom - ((v - y[0]) / (y[1] - y[0])) * (box.bottom - box.top);
    for (const v of ticks(...y, 5)) {
      add(svg, "path", { class: "axis", d: `M${box.left},${py(v)}H${box.right}` });
      add(svg, "text", { x: box.left - 6, y: py(v) + 4, "text-anchor": "end" }, number(v));
    }
    for (const v of ticks(...x, Math.min(10, width / 60))) {
      if (!whole || Number.isInteger(v)) add(svg, "text", { x: px(v), y: box.bottom + 16, "text-anchor": "middle" }, number(v));
    }
    add(svg, "text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, xlabel);
    add(svg, "text", { x: 0, y: 0, transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, ylabel);
    return { svg, px, py, box };
  }

  const path = (xs, ys, px, py) => xs.map((x, i) => `${i ? "L" : "M"}${px(x).toFixed(1)},${py(ys[i]).toFixed(1)}`).join("");

  function scree(parent, { values, rank, chosen, null: chance }) {
    const xs = values.map((_, i) => i + 1);
    const top = 1.06 * Math.max(...values, chance ? chance.threshold : 0) || 1;
    const { svg, px, py, box } = frame(parent, {
      title: `Singular values: ${values.slice(0, 10).map(number).join(", ")}`,
      x: [0.4, values.length + 0.6], y: [0, top], xlabel: "direction", ylabel: "singular value", whole: true,
    });
    if (chance) {
      const back = path([...xs].reverse(), [...chance.low].reverse(), px, py).replace("M", "L");
      add(svg, "path", { class: "band", d: `${path(xs, chance.high, px, py)}${back}Z` });
      add(svg, "path", { class: "chance", d: `M${box.left},${py(chance.threshold)}H${box.right}` });
      add(svg, "text", { x: box.right, y: py(chance.threshold) - 5, "text-anchor": "end" },
        `${box.right - box.left > 400 ? "chance rarely exceeds this" : "chance"} (${Math.round(100 * chance.level)} %)`);
      const below = chance.low[0] > 0.12 * top;
      add(svg, "text", { x: px(1) + 2, y: below ? py(chance.low[0]) + 14 : py(chance.high[0]) - 5 }, "permuted");
    }
    if (rank < values.length) {
      add(svg, "path", { class: "mark", d: `M${px(rank + 0.5)},${box.top}V${box.bottom}` });
      const late = rank > 0.6 * values.length;
      const side = { x: px(rank + 0.5) + (late ? -4 : 4), "text-anchor": late ? "end" : "start" };
      add(svg, "text", { ...side, y: box.top + 9 }, `fitted: ${rank}`);
    }
    add(svg, "path", { class: "line rows-line", d: path(xs, values, px, py) });
    values.forEach((v, i) => {
      const counts = chosen === null || i < chosen;
      const dot = add(svg, "circle", { class: counts ? "dot" : "dot hollow", cx: px(i + 1), cy: py(v), r: values.length > 40 ? 2.5 : 4 });
      add(dot, "title", {}, `direction ${i + 1}: ${number(v)}`);
    });
  }

  // Heights of labels that do not overlap, in the order of the curves.
  function apart(heights, distance, lowest) {
    const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
    const placed = [...heights];
    for (let i = 1; i < order.length; i++) placed[order[i]] = Math.max(placed[order[i]], placed[order[i - 1]] + distance);
    if (order.length && placed[order.at(-1)] > lowest) {
      placed[order.at(-1)] = lowest;
      for (let i = order.length - 2; i >= 0; i--) placed[order[i]] = Math.min(placed[order[i]], placed[order[i + 1]] - distance);
    }
    return placed;
  }

  // ---------------------------------------------------------------- how far to trust a score

  function calibration(parent, panels) {
    inPanels(parent, panels.map((panel) => panel.title), (holder, i) => (panels[i].kind === "interval" ? interval : rate)(holder, panels[i]));
    for (const [i, figure] of [...parent.children].entries()) add(figure, "figcaption", {}, panels[i].words);
  }

  // Small figures side by side: all are there before one is drawn, so that each knows its width.
  function inPanels(parent, titles, draw) {
    const holders = titles.map((title) => {
      const figure = add(parent, "figure");
      add(figure, "div", { class: "panel-title" }, title);
      return add(figure, "div");
    });
    holders.forEach(draw);
  }

  // Each range of predicted scores, and the bounds of nine in ten held-out values there.
  function interval(parent, { title, name, start, end, below, above }) {
    const x = [start[0], end.at(-1)];
    const y = [Math.min(...start.map((s, i) => s + below[i])), Math.max(...end.map((s, i) => s + above[i]))];
    const { svg, px, py } = frame(parent, {
      title: `${title}: bounds of held-out values`, x, y: wider(y), xlabel: `predicted ${name}`, ylabel: `held-out ${name}`,
    });
    start.forEach((from, i) => {
      const corners = [[from, below[i]], [end[i], below[i]], [end[i], above[i]], [from, above[i]]];
      const area = add(svg, "path", {
        class: "bounds", d: `${path(corners.map(([v]) => v), corners.map(([v, d]) => v + d), px, py)}Z`,
      });
      const middle = (from + end[i]) / 2;
      add(area, "title", {}, `predicted ${number(middle)}: 90 % between ${number(middle + below[i])} and ${number(middle + above[i])}`);
    });
    add(svg, "path", { class: "chance", d: `M${px(x[0])},${py(x[0])}L${px(x[1])},${py(x[1])}` });
  }

  // The share of held-out pairs that were known, or of unknown pairs with a lower score.
  function rate(parent, { title, name, kind, score, share }) {
    const what = kind === "listed_rate" ? "known, of 100" : "percentile";
    const { svg, px, py } = frame(parent, {
      title: `${title}: ${what}`, x: wider([score[0], score.at(-1)]), y: [0, Math.min(100, 1.1 * Math.max(...share)) || 1],
      xlabel: name, ylabel: what,
    });
    add(svg, "path", { class: "line rows-line heavy", d: path(score, share, px, py) });
  }

  function wider([low, high]) {
    const more = 0.03 * (high - low) || 1;
    return [low - more, high + more];
  }

  // ---------------------------------------------------------------- methods side by side

  // One panel for each metric: a dot for each method on an axis that begins at the range of the values.
  function graded(parent, { graded: metrics }) {
    inPanels(parent, metrics.map(({ metric, better }) => `${metric} (${better})`), (holder, at) => {
      const { methods, mean, se, decimals } = metrics[at];
      const width = Math.max(280, Math.min(holder.clientWidth || 400, 900));
      const left = Math.min(16 + 6.5 * Math.max(...methods.map((m) => m.length)), 0.42 * width);
      const digits = mean.map((v) => aligned(v, decimals));
      const right = width - 20 - 7 * Math.max(...digits.map((t) => t.length));
      const [line, top] = [24, 6];
      const bottom = top + line * methods.length;
      const svg = add(holder, "svg", { class: "chart", viewBox: `0 0 ${width} ${bottom + 22}`, role: "img",
        "aria-label": methods.map((name, i) => `${name} ${digits[i]}`).join(", ") });
      const range = wider([Math.min(...mean.map((v, i) => v - se[i])), Math.max(...mean.map((v, i) => v + se[i]))]);
      const px = (v) => left + ((v - range[0]) / (range[1] - range[0])) * (right - left);
      for (const v of ticks(...range, 4)) {
        add(svg, "path", { class: "axis", d: `M${px(v)},${top}V${bottom}` });
        add(svg, "text", { x: px(v), y: bottom + 15, "text-anchor": "middle" }, number(v));
      }
      methods.forEach((name, i) => {
        const y = top + line * (i + 0.5);
        const fits = Math.floor((left - 12) / 6.3);
        const label = add(svg, "text", { class: i === 0 ? "strong" : "", x: left - 8, y: y + 4, "text-anchor": "end" },
          name.length > fits ? `${name.slice(0, fits - 1)}…` : name);
        add(label, "title", {}, name);
        if (se[i]) add(svg, "path", { class: "line rows-line", d: `M${px(mean[i] - se[i])},${y}H${px(mean[i] + se[i])}` });
        const dot = add(svg, "circle", { class: "dot", cx: px(mean[i]), cy: y, r: 4.5 });
        add(dot, "title", {}, `${name}: ${digits[i]}${se[i] ? ` ± ${number(se[i])}` : ""}`);
        add(svg, "text", { class: i === 0 ? "strong" : "", x: width - 6, y: y + 4, "text-anchor": "end" }, digits[i]);
      });
    });
  }

  function recall(parent, { curves }) {
    const last = (curve) => curve.recall.at(-1);
    const best = curves.reduce((a, b) => (last(b) > last(a) ? b : a));
    const longest = Math.max(...curves.map((c) => c.name.length));
    const { svg, px, py, box } = frame(parent, {
      title: `Recall curves; the best is ${best.name}`,
      x: [0, Math.max(...curves.map((c) => c.k.at(-1)))], y: [0, 1.05 * Math.max(...curves.flatMap((c) => c.recall)) || 1],
      right: Math.min(24 + 6.5 * Math.min(longest, 22), 0.45 * (parent.clientWidth || 700)), xlabel: "retrieved, k", ylabel: "recall at k",
    });
    const places = apart(curves.map((c) => py(last(c))), 15, box.bottom);
    curves.forEach((curve, i) => {
      const group = add(svg, "g", { class: `stroke-g${i % 8}` });
      curve.k.forEach((k, j) => {
        if (curve.se[j]) add(group, "path", { class: "line", d: `M${px(k)},${py(curve.recall[j] - curve.se[j])}V${py(curve.recall[j] + curve.se[j])}` });
      });
      add(group, "path", { class: curve === best ? "line heavy" : "line", d: path(curve.k, curve.recall, px, py) });
      const name = curve.name.length > 24 ? `${curve.name.slice(0, 23)}…` : curve.name;
      const label = add(svg, "text", { class: `g${i % 8}${curve === best ? " best" : ""}`, x: box.right + 8, y: places[i] + 4 }, name);
      add(label, "title", {}, `${curve.name}: ${number(last(curve))} at ${curve.k.at(-1)}`);
    });
  }

  // ---------------------------------------------------------------- the map

  function map(parent, { kinds, directions, legend }) {
    const points = kinds.flatMap((kind, k) => kind.ids.map((id, i) => ({
      id, k, i, kind: kind.name, label: kind.labels ? kind.labels[i] : "", group: kind.groups ? kind.groups[i] : null,
      text: `${id} ${kind.labels ? kind.labels[i] : ""}`.toLowerCase(),
    })));
    const width = Math.max(300, Math.min(parent.clientWidth || 700, 900));
    const height = Math.round(width < 500 ? width : 0.68 * width);
    const svg = add(parent, "svg", { class: "chart map", viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Map of ${kinds.map((kind) => `${kind.ids.length} ${kind.name}`).join(" and ")}` });
    const box = { left: 8, top: 22, width: width - 16, height: height - 44 };
    add(svg, "rect", { class: "edge", x: box.left, y: box.top, width: box.width, height: box.height });
    const inner = add(svg, "clipPath", { id: "map-frame" });
    add(inner, "rect", { x: box.left - 7, y: box.top - 7, width: box.width + 14, height: box.height + 14 });
    const axes = add(svg, "g");
    const layer = add(svg, "g", { "clip-path": "url(#map-frame)" });
    const size = points.length > 2000 ? 2 : points.length > 400 ? 3 : 4.5;
    // Where one kind has colours, the other one is drawn first, so that it hides none of them.
    for (const p of [...points].sort((a, b) => (a.group !== null) - (b.group !== null))) {
      const colour = p.group !== null ? (p.group < 0 ? "none-of-them" : `${legend.is_scale ? "q" : "g"}${p.group}`)
        : legend.groups.length ? "plain" : ["row", "column"][p.k];
      p.node = p.k === 0 ? add(layer, "circle", { class: `point ${colour}`, r: size }) : add(layer, "path", { class: `point ${colour}` });
    }
    const names = at("map-legend");
    const entry = (shape, colour, text) => {
      const span = add(names, "span");
      const mark = add(span, "svg", { class: "chart swatch", viewBox: "0 0 12 12", "aria-hidden": "true" });
      if (shape) add(mark, "path", { class: colour, d: "M6,0.5L11.5,6L6,11.5L0.5,6Z" });
      else add(mark, "circle", { class: colour, cx: 6, cy: 6, r: 4.5 });
      add(span, "span", {}, text);
    };
    kinds.forEach((kind, k) => entry(k, legend.groups.length ? "plain" : ["row", "column"][k], `${kind.name} (${kind.ids.length})`));
    if (legend.groups.length) {
      add(names, "span", { class: "quiet" }, `${legend.column}:`);
      legend.groups.forEach((name, i) => entry(0, `${legend.is_scale ? "q" : "g"}${i}`, name));
      if (points.some((p) => p.group === -1)) entry(0, "none-of-them", "other or unknown");
    }

    const [fromX, fromY] = ["map-x", "map-y"].map((id, j) => {
      for (let d = 0; d < directions; d++) add(at(id), "option", { value: d }, `direction ${d + 1}`);
      at(id).value = String(j);
      at(id).addEventListener("change", () => { zoom = 1; place(); });
      return () => Number(at(id).value);
    });
    let zoom = 1;
    let middle = [0, 0];
    // So far out that nearly all points are inside; a few far ones, which would squeeze the rest, are drawn on the edge.
    function reach(values) {
      const sizes = values.map(Math.abs).sort((a, b) => a - b);
      const nearly = sizes[Math.floor(0.99 * (sizes.length - 1))];
      return 1.05 * (nearly > 0 ? sizes.findLast((size) => size <= 1.5 * nearly) : sizes.at(-1)) || 1;
    }
    function draw(p, isBeyond) {
      const d = size * (isBeyond ? 1.4 : 1.15);
      p.node.classList.toggle("beyond", isBeyond);
      if (p.k === 0) {
        for (const [name, value] of [["cx", p.x], ["cy", p.y]]) p.node.setAttribute(name, value.toFixed(1));
      } else p.node.setAttribute("d", `M${p.x.toFixed(1)},${(p.y - d).toFixed(1)}l${d},${d}l${-d},${d}l${-d},${-d}Z`);
    }
    function place() {
      const x = points.map((p) => kinds[p.k].z[fromX()][p.i] ?? 0);
      const y = points.map((p) => kinds[p.k].z[fromY()][p.i] ?? 0);
      const [rx, ry] = [reach(x) / zoom, reach(y) / zoom];
      const [cx, cy] = zoom > 1 ? middle : [0, 0];
      const px = (v) => box.left + (0.5 + (v - cx) / (2 * rx)) * box.width;
      const py = (v) => box.top + (0.5 - (v - cy) / (2 * ry)) * box.height;
      const within = (v, low, size) => Math.min(Math.max(v, low), low + size);
      axes.replaceChildren();
      const [zero, across] = [px(0), py(0)];
      if (zero > box.left && zero < box.left + box.width) add(axes, "path", { class: "axis", d: `M${zero},${box.top}v${box.height}` });
      if (across > box.top && across < box.top + box.height) add(axes, "path", { class: "axis", d: `M${box.left},${across}h${box.width}` });
      add(axes, "text", { x: box.left + box.width, y: box.top + box.height + 15, "text-anchor": "end" }, `direction ${fromX() + 1} →`);
      add(axes, "text", { x: box.left, y: box.top - 6 }, `↑ direction ${fromY() + 1}`);
      let beyond = 0;
      points.forEach((p, i) => {
        const [left, top] = [px(x[i]), py(y[i])];
        const inside = [within(left, box.left, box.width), within(top, box.top, box.height)];
        const isInside = inside[0] === left && inside[1] === top;
        [p.x, p.y] = zoom > 1 ? [left, top] : inside;
        p.isShown = zoom === 1 || isInside;
        draw(p, p.isShown && !isInside);
        beyond += p.isShown && !isInside;
      });
      moved = { cx, cy, rx, ry };
      at("map-out").disabled = zoom === 1;
      at("map-beyond").textContent = beyond === 0 ? "" : beyond === 1
        ? "1 point lies farther out than the frame, and is drawn on its edge, with a ring."
        : `${beyond} points lie farther out than the frame, and are drawn on its edge, with a ring.`;
    }
    let moved = null;

    parent.classList.add("holds-tip");
    const tip = add(parent, "div", { class: "tip", hidden: "", role: "tooltip" });
    let shown = null;
    const inside = (event) => {
      const place = svg.getBoundingClientRect();
      return [((event.clientX - place.left) / place.width) * width, ((event.clientY - place.top) / place.height) * height];
    };
    function nearest(event) {
      const [x, y] = inside(event);
      let [found, least] = [null, 18 ** 2];
      for (const p of points) {
        const distance = (p.x - x) ** 2 + (p.y - y) ** 2;
        if (p.isShown && distance < least) [found, least] = [p, distance];
      }
      return found;
    }
    function show(p) {
      if (shown) shown.node.classList.remove("pointed");
      shown = p;
      tip.hidden = p === null;
      if (p === null) return;
      p.node.classList.add("pointed");
      const value = p.group === null ? "" : p.group < 0 ? "" : ` · ${legend.groups[p.group]}`;
      tip.replaceChildren();
      add(tip, "strong", {}, p.label || p.id);
      add(tip, "div", {}, `${p.kind}${p.label ? ` ${p.id}` : ""}${value}`);
      const scale = svg.getBoundingClientRect().width / width;
      tip.style.left = `${Math.min(Math.max(p.x * scale - tip.offsetWidth / 2, 0), parent.clientWidth - tip.offsetWidth)}px`;
      const above = p.y * scale - tip.offsetHeight - 10;
      tip.style.top = `${above > 0 ? above : p.y * scale + 12}px`;
    }
    svg.addEventListener("pointermove", (event) => show(nearest(event)));
    svg.addEventListener("pointerdown", (event) => show(nearest(event)));
    svg.addEventListener("pointerleave", () => show(null));
    svg.addEventListener("click", (event) => {
      const p = nearest(event);
      if (p && at("search")) at("pairs").dispatchEvent(new CustomEvent("entity", { detail: p }));
    });

    const search = at("map-search");
    function find() {
      const wanted = search.value.trim().toLowerCase();
      let found = [];
      for (const p of points) {
        const hit = wanted !== "" && p.text.includes(wanted);
        p.node.classList.toggle("hit", hit);
        if (hit) { found.push(p); layer.append(p.node); }
      }
      layer.classList.toggle("searched", wanted !== "");
      at("map-status").textContent = wanted === "" ? "" : found.length === 0 ? "Nothing on the map matches."
        : `${found.length} found: ${found.slice(0, 5).map((p) => p.label || p.id).join(", ")}${found.length > 5 ? ", …" : ""}`;
      return found;
    }
    search.addEventListener("input", find);
    function zoomBy(factor) {
      const found = search.value.trim() ? find() : [];
      const centre = found.length ? [found[0].x, found[0].y] : [box.left + box.width / 2, box.top + box.height / 2];
      middle = [
        moved.cx + ((centre[0] - box.left) / box.width - 0.5) * 2 * moved.rx,
        moved.cy + (0.5 - (centre[1] - box.top) / box.height) * 2 * moved.ry,
      ];
      zoom = Math.min(64, Math.max(1, zoom * factor));
      show(null);
      place();
    }
    at("map-in").addEventListener("click", () => zoomBy(2));
    at("map-out").addEventListener("click", () => zoomBy(0.5));
    let dragged = null;
    svg.addEventListener("pointerdown", (event) => { dragged = zoom > 1 ? { at: inside(event), from: [...middle] } : null; });
    svg.addEventListener("pointermove", (event) => {
      if (!dragged || !event.buttons) return;
      const [x, y] = inside(event);
      middle = [
        dragged.from[0] - ((x - dragged.at[0]) / box.width) * 2 * moved.rx,
        dragged.from[1] + ((y - dragged.at[1]) / box.height) * 2 * moved.ry,
      ];
      place();
    });
    svg.addEventListener("pointerup", () => { dragged = null; });
    place();
  }

  // ---------------------------------------------------------------- the table

  function table({ names, score: scoreName, rows, columns, decimals, lists }) {
    const text = ([ids, labels], i) => (labels && labels[i] ? `${labels[i]} ${ids[i]}` : ids[i]);
    const columnsOf = [["row", names[0]], ["column", names[1]], ["score", scoreName]];
    if (decimals.lower !== undefined) columnsOf.push(["lower", "90 % between"]);
    for (const name of ["percentile", "neighbors"]) if (decimals[name] !== undefined) columnsOf.push([name, name]);
    columnsOf.push(["rank", "rank"]);
    const pairs = Object.fromEntries(Object.entries(lists).map(([by, list]) => [by, list.score.map((_, i) => ({
      ...Object.fromEntries(Object.keys(list).map((name) => [name, list[name][i]])), i,
      names: { row: text(rows, list.row[i]), column: text(columns, list.column[i]) },
    }))]));
    for (const pair of Object.values(pairs).flat()) pair.text = `${pair.names.row} ${pair.names.column}`.toLowerCase();
    const [head, body] = [at("pairs").tHead, at("pairs").tBodies[0]];
    let [listed, shown, by, up, most] = [[], [], null, true, 50];

    function entity(cell, [ids, labels], i) {
      if (!labels || !labels[i] || labels[i] === ids[i]) { cell.textContent = ids[i]; return; }
      add(cell, "span", {}, labels[i]);
      add(cell, "div", { class: "quiet small" }, ids[i]);
    }
    function words(pair, name) {
      if (name === "rank") return String(pair.rank);
      const value = aligned(pair[name], decimals[name]);
      return name === "lower" ? `${value} – ${aligned(pair.upper, decimals.upper)}` : value;
    }
    function draw() {
      body.replaceChildren();
      for (const pair of shown.slice(0, most)) {
        const line = add(body, "tr");
        entity(add(line, "td"), rows, pair.row);
        entity(add(line, "td"), columns, pair.column);
        for (const [name] of columnsOf.slice(2)) add(line, "td", { class: "number" }, words(pair, name));
      }
      at("count").textContent = shown.length === 0 ? "Nothing in this list matches."
        : `${Math.min(most, shown.length)} of ${shown.length}${shown.length < listed.length ? ` that match (${listed.length} in all)` : ""}`;
      at("more").hidden = shown.length <= most;
    }
    const order = new Intl.Collator("en", { numeric: true });
    function arrange() {
      const wanted = at("search").value.trim().toLowerCase();
      shown = wanted ? listed.filter((pair) => pair.text.includes(wanted)) : [...listed];
      if (by) {
        const sign = up ? 1 : -1;
        const compare = by === "row" || by === "column" ? (a, b) => order.compare(a.names[by], b.names[by])
          : (a, b) => (a[by] ?? -Infinity) - (b[by] ?? -Infinity);
        shown.sort((a, b) => sign * compare(a, b) || a.i - b.i);
      }
      most = 50;
      draw();
    }
    const line = add(head, "tr");
    for (const [name, title] of columnsOf) {
      const cell = add(line, "th", { scope: "col", "aria-sort": "none", class: name === "row" || name === "column" ? "" : "number" });
      const button = add(cell, "button", { type: "button" }, title);
      button.addEventListener("click", () => {
        // Numbers are mostly wanted from the largest down, names and ranks from the first on.
        up = by === name ? !up : name === "row" || name === "column" || name === "rank";
        by = name;
        for (const other of line.cells) other.setAttribute("aria-sort", "none");
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        arrange();
      });
    }
    const buttons = [...document.querySelectorAll("[data-list]")];
    function choose(list) {
      listed = pairs[list];
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.list === list));
      for (const note of document.querySelectorAll("[data-note]")) note.hidden = note.dataset.note in pairs && note.dataset.note !== list;
      by = null;
      for (const other of line.cells) other.setAttribute("aria-sort", "none");
      arrange();
    }
    for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.list));
    at("pairs").addEventListener("entity", ({ detail: { id, k } }) => {
      at("search").value = id;
      choose(k === 1 && pairs.columns ? "columns" : "rows");
    });
    at("search").addEventListener("input", arrange);
    at("more").addEventListener("click", () => { most += 200; draw(); });
    choose(pairs.pairs ? "pairs" : "rows");
  }

  // ---------------------------------------------------------------- all of it

  if (DATA.scree) scree(at("scree-chart"), DATA.scree);
  if (DATA.map) map(at("map-chart"), DATA.map);
  if (DATA.recommendations) table(DATA.recommendations);
  if (DATA.calibration && DATA.calibration.length) calibration(at("calibration"), DATA.calibration);
  if (DATA.evaluation) {
    if (DATA.evaluation.curves) recall(at("recall-chart"), DATA.evaluation);
    else graded(at("graded-chart"), DATA.evaluation);
  }
})();
