"use strict";
// Draws the charts of a report with uPlot: each group has one axis, one cursor and one zoom.
(() => {
  const groups = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const reach = 24; // how near the cursor has to come to a point, in pixels
  const steps = [];
  for (let power = -6; power < 12; power++) {
    for (const first of [1, 2, 5]) steps.push(Number(`${first}e${power}`));
  }

  let colors = {}; // by the name of the style sheet, as long as its scheme holds
  const color = name => colors[name] ??= getComputedStyle(root).getPropertyValue(name).trim();
  const lineColor = n => color(`--c${n % 8 + 1}`);

  function element(kind, parent, textContent = "", className = "") {
    return parent.appendChild(Object.assign(document.createElement(kind), {textContent, className}));
  }

  function number(v) {
    if (v == null) return "";
    return Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en") : String(Number(v.toPrecision(4)));
  }
  const exact = v => v == null ? "" : v.toLocaleString("en", {maximumFractionDigits: 6});

  // spread gives a series one value for each x, with null at both ends of the group's axis.
  function spread(values, at, length) {
    const all = Array(length + 2).fill(null);
    values.forEach((v, i) => { all[(at ? at[i] : i) + 1] = v; });
    return all;
  }

  // isSkewed says whether a chart needs a logarithmic axis: its most is far above the usual, and no line touches 0.
  function isSkewed(chart) {
    if (chart.lines.some(l => !l.form && l.values.some(v => v === 0))) return false;
    const all = chart.lines.flatMap(l => l.values).filter(v => v > 0).sort((a, b) => a - b);
    return all.length > 0 && all[all.length - 1] > 20 * all[all.length >> 1];
  }

  function range(chart, isLog) {
    return (u, low, high) => {
      if (low == null) return isLog ? [1, 10] : [0, 1];
      const most = Math.max(high, ...(chart.limits || []).map(l => l.value).filter(v => v <= 2 * high));
      if (!isLog) return [chart.lines.some(l => l.form) ? -0.04 * most : 0, 1.05 * most || 1]; // half a mark below 0
      return [steps.findLast(s => s <= low) || low, steps.find(s => s >= most)];
    };
  }

  // ticks of a logarithmic axis are 1, 2 and 5, or 1 alone where those are too many.
  function ticks(u, axis, low, high) {
    const all = steps.filter(s => s >= low * 0.999 && s <= high * 1.001);
    return all.length <= u.over.clientHeight / 16 ? all : all.filter(s => String(s).replace(/[0.]/g, "").startsWith("1"));
  }

  // loads are the ticks of an axis of loads: those that were run, less those that have no room.
  function loads(u, axis, low, high) {
    let last = -Infinity;
    return u.data[0].filter(v => {
      const at = u.valToPos(v, "x");
      if (v < low || v > high || at - last < 30) return false;
      last = at;
      return true;
    });
  }

  function marks(form) {
    return (u, series, first, last) => {
      const path = new Path2D();
      const half = (form === "cross" ? 3.5 : 1.5) * devicePixelRatio;
      for (let i = first; i <= last; i++) {
        const x = u.valToPos(u.data[0][i], "x", true), y = u.valToPos(u.data[series][i], "y", true);
        if (u.data[series][i] == null || !isFinite(y)) continue;
        if (form === "cross") {
          for (const up of [half, -half]) {
            path.moveTo(x - half, y - up);
            path.lineTo(x + half, y + up);
          }
        } else {
          path.rect(x - half, y - half, 2 * half, 2 * half);
        }
      }
      return form === "cross" ? {stroke: path} : {stroke: null, fill: path};
    };
  }

  // nearest is the index of the point of any of the series that is nearest to the cursor.
  function nearest(u, series, index) {
    const {left, top} = u.cursor;
    let best = null, least = Infinity;
    const look = i => {
      const x = u.valToPos(u.data[0][i], "x") - left;
      for (const values of series) {
        if (values[i] == null) continue;
        const y = top < 0 ? 0 : u.valToPos(values[i], "y") - top;
        if (x * x + y * y / 4 < least) [best, least] = [i, x * x + y * y / 4];
      }
      return Math.abs(x) < reach;
    };
    for (let i = index; i >= 0 && look(i); i--);
    for (let i = index + 1; i < u.data[0].length && look(i); i++);
    return best;
  }

  // below draws what lies under the lines: the steady part, bands over the repeats of a load, objectives, the load that is carried.
  function below(chart, group) {
    return u => {
      const {left, top, width, height} = u.bbox, ctx = u.ctx;
      const x = v => u.valToPos(v, "x", true), y = v => u.valToPos(v, "y", true);
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, width, height);
      ctx.clip();
      if (group.steady) {
        const [from, to] = group.steady.map(x);
        ctx.fillStyle = color("--shade");
        ctx.fillRect(from, top, to - from, height);
      }
      chart.lines.forEach((l, n) => {
        if (!l.low) return;
        const known = l.low.map((_, i) => i).filter(i => l.low[i] != null);
        ctx.beginPath();
        known.forEach(i => ctx.lineTo(x(group.x[i]), y(l.high[i])));
        known.reverse().forEach(i => ctx.lineTo(x(group.x[i]), y(l.low[i])));
        ctx.globalAlpha = 0.2;
        ctx.fillStyle = lineColor(n);
        if (u.series[n + 1].show) ctx.fill();
      });
      ctx.globalAlpha = 1;
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      const stroke = (name, ...points) => {
        ctx.strokeStyle = color(name);
        ctx.beginPath();
        points.forEach(([px, py]) => ctx.lineTo(px, py));
        ctx.stroke();
      };
      for (const l of chart.limits || []) stroke("--limit", [left, y(l.value)], [left + width, y(l.value)]);
      if (chart.mark) stroke("--soft", [x(chart.mark.value), top], [x(chart.mark.value), top + height]);
      ctx.restore();
    };
  }

  function series(chart, group) {
    let failures = 0;
    const all = chart.lines.map((l, n) => {
      const stroke = l.form === "cross" ? color(`--f${failures++ % 4 + 1}`) : lineColor(n);
      const value = (u, v, s, i) => {
        const between = v != null && l.low && l.high[i - 1] > l.low[i - 1];
        return number(v) + (between ? ` (${number(l.low[i - 1])}–${number(l.high[i - 1])})` : "");
      };
      const s = {label: l.name, stroke, value, width: 2, spanGaps: true, points: {show: !group.overTime, size: 6, fill: stroke}};
      if (l.form) Object.assign(s, {paths: marks(l.form), fill: stroke, alpha: l.form === "dot" ? 0.6 : 1, points: {show: false}});
      return s;
    });
    const at = {label: "at", value: (u, v) => v == null ? "" : `${v.toFixed(2)} s`};
    return [group.overTime ? at : {label: group.axis, value: (u, v) => number(v)}, ...all];
  }

  function frame(chart, box) {
    const figure = element("figure", box), caption = element("figcaption", figure);
    element("strong", caption, chart.title + (isSkewed(chart) ? ", logarithmic" : ""));
    for (const l of chart.limits || []) element("span", caption, l.name, "limit");
    if (chart.mark) element("span", caption, chart.mark.name, "mark");
    return figure;
  }

  function axes(group, isLog, isNamed) {
    const grid = {stroke: color("--grid"), width: 1}, font = "12px system-ui, sans-serif";
    const axis = {font, stroke: color("--soft"), grid, ticks: {...grid, size: 5}, incrs: steps, values: (u, all) => all.map(exact)};
    const x = {...axis, size: 30, label: isNamed ? group.axis : undefined, labelFont: font, labelSize: 18};
    const y = {...axis, size: 62};
    if (!group.overTime) x.splits = loads;
    if (isLog) Object.assign(y, {splits: ticks, filter: (u, all) => all});
    return [x, y];
  }

  function draw(chart, group, figure, width, isLast) {
    const x = chart.x || group.x, isLog = isSkewed(chart), isDots = chart.lines.some(l => l.form);
    const values = chart.lines.map(l => spread(l.values, l.at, x.length));
    const [from, to] = group.ends;
    const around = (u, low, high) => { // loads do not stand on the edge
      if (group.overTime) return [low, high];
      return group.isLog ? [low / 1.1, high * 1.1] : [low - (high - low) / 30, high + (high - low) / 30];
    };
    const u = new uPlot({
      width, height: isDots || !group.overTime ? 230 : 150, padding: [10, 14, 0, 0],
      legend: {markers: {width: 0, fill: (u, n) => u.series[n].stroke()}},
      scales: {
        x: {time: false, distr: group.isLog ? 3 : 1, log: 2, range: around},
        y: {distr: isLog ? 3 : 1, range: range(chart, isLog)},
      },
      axes: axes(group, isLog, !group.overTime || isLast),
      series: series(chart, group),
      cursor: {
        y: false, points: {size: 9}, drag: {x: true, y: false, dist: 5}, sync: {key: group.key, scales: ["x", null]},
        dataIdx: (u, n, index) => {
          if (!isDots) return n === 0 ? index : nearest(u, [values[n - 1]], index);
          if (u !== group.hovered && !chart.x && group.index != null) return group.index;
          const found = nearest(u, values, index);
          if (u === group.hovered) group.index = found;
          return found;
        },
      },
      hooks: {
        drawClear: [below(chart, group)],
        setScale: [(u, key) => { if (key === "x") group.reset.disabled = u.scales.x.min <= from && u.scales.x.max >= to; }],
      },
    }, [[from, ...x, to], ...values], figure);
    u.over.addEventListener("mouseenter", () => { group.hovered = u; group.index = null; });
    return u;
  }

  function drawAll() {
    colors = {};
    document.querySelectorAll(".charts").forEach((box, n) => {
      const group = groups[n], all = group.charts || [];
      if (all.length === 0) return;
      (group.plots || []).forEach(u => u.destroy());
      box.replaceChildren();
      const instants = [group.x, ...all.map(c => c.x || [])].flat();
      group.ends = instants.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
      group.overTime = box.classList.contains("over-time");
      group.key = `group ${n}`;
      const hint = element("p", box, "Drag over a chart to zoom. ", "hint");
      group.reset = element("button", hint, "Show all");
      group.reset.disabled = true;
      group.reset.onclick = () => group.plots.forEach(u => u.setScale("x", {min: group.ends[0], max: group.ends[1]}));
      if (group.steady) element("span", hint, "steady part", "steady");
      if (all.some(c => c.lines.some(l => l.low && l.low.some((v, i) => v < l.high[i])))) {
        element("span", hint, "Lines are the mean of a load's repeats, bands reach from the least to the most of them.");
      }
      if (group.note) element("span", hint, group.note);
      const figures = all.map(chart => frame(chart, box)), width = figures[0].clientWidth; // asked for once: it costs a layout
      group.plots = all.map((chart, i) => draw(chart, group, figures[i], width, i === all.length - 1));
    });
  }

  function fit() {
    for (const u of groups.flatMap(g => g.plots || [])) {
      const width = u.root.parentElement.clientWidth;
      if (width > 0 && width !== u.width) u.setSize({width, height: u.height});
    }
  }

  drawAll();
  addEventListener("resize", fit);
  addEventListener("toggle", fit, true);
  addEventListener("beforeprint", () => { root.classList.add("printing"); drawAll(); });
  addEventListener("afterprint", () => { root.classList.remove("printing"); drawAll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
