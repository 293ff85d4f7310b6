// SPDX-License-Identifier: Apache-2.0
// The last minutes as curves: a panel for the time of a step, for what is pushed, for staleness,
// and for each number that programs report.
'use strict';

const kPlot = {left: 46, right: 8, top: 8, bottom: 24, height: 136};
const kLeastSeconds = 60;  // Shown at least, so that a young job's curve does not fill the panel.
let course = {age_s: []};
let crosshair = null;  // The panel under the mouse, and how many seconds ago: [key, age].

function svg(name, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---- units

// [factor, unit] by which the largest value has a readable number.
function timeUnit(most) {
  if (most >= 1) return [1, 's'];
  return most >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
}

function rateUnit(most) {
  if (most >= 1e9) return [1e-9, 'GB/s'];
  return most >= 1e6 ? [1e-6, 'MB/s'] : [1e-3, 'kB/s'];
}

// Round numbers from `low` to `high`, about so many, and no nearer to each other than `least`.
function ticksOf(low, high, wanted = 4, least = 0) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    least, [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((one) => one >= rough));
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-9); ++at) ticks.push(at * step);
  return [ticks, step];
}

function tickText(value, step) {
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  const exact = Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) < 1e-6;
  const size = Math.abs(value);
  if (size >= 1e9 || (size !== 0 && size < 1e-4)) return value.toExponential(1);
  if (size >= 1e6) return number(value / 1e6) + ' M';
  if (size >= 1e4) return number(value / 1e3) + ' k';
  return value.toFixed(exact ? digits : digits + 1);
}

function agoText(age) {
  if (age < 1) return 'now';
  return age >= 60 && age % 60 === 0 ? `−${age / 60} min` : `−${Math.round(age)} s`;
}

// ---- one panel

// The least and the most that is shown: from zero on, or around what there is.
function rangeOf(values, fromZero) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (fromZero) low = Math.min(0, low);
  if (high === low) {
    const room = Math.abs(high) / 10 || 1;
    return [fromZero ? low : low - room, high + room];
  }
  const room = (high - low) * 0.06;
  return [fromZero ? low : low - room, high + room];
}

function axes(plot, low, high, least) {
  const parts = [];
  const right = plot.width - kPlot.right;
  const [ticks, step] = ticksOf(low, high, 4, least);
  for (const tick of ticks) {
    const y = plot.y(tick);
    const label = {x: kPlot.left - 6, y: y + 4, 'text-anchor': 'end'};
    parts.push(svg('line', {class: 'grid', x1: kPlot.left, x2: right, y1: y, y2: y}));
    parts.push(svg('text', label, tickText(tick, step)));
  }
  const wanted = plot.span / Math.max(2, Math.floor(plot.width / 58));
  const every = [10, 15, 30, 60, 120, 180, 300].find((one) => one >= wanted) || 600;
  for (let age = 0; age <= plot.span + 0.5; age += every) {
    const x = plot.x(age);
    const anchor = age === 0 ? 'end' : 'middle';  // There is room on the left, of the other axis.
    parts.push(svg('text', {x, y: kPlot.height - 5, 'text-anchor': anchor}, agoText(age)));
  }
  return parts;
}

// Points are [age, value]; what is not known is left out, and the line goes on behind it.
function lineThrough(plot, points) {
  if (points.length === 1) {
    const [age, value] = points[0];
    return svg('circle', {class: 'dot', cx: plot.x(age), cy: plot.y(value), r: 2.5});
  }
  const d = points.map(([age, value], i) => `${i ? 'L' : 'M'}${plot.x(age).toFixed(1)} ` +
    plot.y(value).toFixed(1)).join('');
  return svg('path', {class: 'line', d});
}

function bandBetween(plot, low, high) {
  const corners = [...high, ...low.slice().reverse()];
  return svg('polygon', {class: 'band', points: corners.map(
    ([age, value]) => `${plot.x(age).toFixed(1)},${plot.y(value).toFixed(1)}`).join(' ')});
}

const pointsOf = (ages, values, factor) => values
  .map((value, i) => [ages[i], value === null ? null : value * factor])
  .filter(([, value]) => value !== null);

const nearest = (points, age) => points.reduce(
  (best, one) => (Math.abs(one[0] - age) < Math.abs(best[0] - age) ? one : best), points[0]);

// A panel is {key, title, values, low, high, fromZero, whole, unit(most) => [factor, name], hint};
// whole: its axis has whole numbers only.
function drawCurve(panel, ages) {
  const box = make('div', undefined, 'curve');
  const head = box.appendChild(make('h3'));
  const known = panel.values.filter((value) => value !== null);
  const [factor, unit] = panel.unit(Math.max(0, ...known.map(Math.abs)));
  const shown = unit && known.length ? ` (${unit})` : '';
  const title = head.appendChild(make('span', panel.title + shown));
  title.title = panel.hint;
  const current = head.appendChild(make('b', known.length ? '' : '–'));
  const drawing = svg('svg', {role: 'img', 'aria-label': panel.title});
  box.append(drawing);
  box.dataset.key = panel.key;
  if (!known.length) return {box, draw: () => {}};
  const points = pointsOf(ages, panel.values, factor);
  const low = panel.low ? pointsOf(ages, panel.low, factor) : points;
  const high = panel.high ? pointsOf(ages, panel.high, factor) : points;
  const [least, most] = rangeOf([...low, ...high].map(([, value]) => value), panel.fromZero);
  const draw = () => {
    const width = drawing.clientWidth || 300;
    const span = Math.max(kLeastSeconds, ages[0]);
    const across = width - kPlot.left - kPlot.right;
    const down = kPlot.height - kPlot.top - kPlot.bottom;
    const plot = {width, span, x: (age) => kPlot.left + across * (1 - age / span),
                  y: (value) => kPlot.top + down * (most - value) / (most - least)};
    const parts = axes(plot, least, most, panel.whole ? 1 : 0);
    if (panel.low && points.length > 1) parts.push(bandBetween(plot, low, high));
    parts.push(lineThrough(plot, points));
    const here = crosshair && crosshair[0] === panel.key ? nearest(points, crosshair[1]) : null;
    if (here) {
      const x = plot.x(here[0]);
      const bottom = kPlot.height - kPlot.bottom;
      parts.push(svg('line', {class: 'cross', x1: x, x2: x, y1: kPlot.top, y2: bottom}));
    }
    const [age, value] = here || points[points.length - 1];
    current.textContent = `${number(value)}${unit ? ' ' + unit : ''}` +
      (here ? ` at ${agoText(Math.round(age))}` : '');
    drawing.replaceChildren(...parts);
    drawing.onpointermove = (event) => {
      const at = event.clientX - drawing.getBoundingClientRect().left;
      crosshair = [panel.key, span * (1 - (at - kPlot.left) / across)];
      draw();
    };
    drawing.onpointerleave = () => {
      crosshair = null;
      draw();
    };
  };
  return {box, draw};
}

// ---- all panels

const plain = () => [1, ''];

function panelsOf(all) {
  const panels = [
    {key: 'step', title: 'Step time', values: all.step_s, fromZero: true, unit: timeUnit,
     hint: 'How long a round takes, by the worker in the middle; while none begins, it grows'},
    {key: 'pushed', title: 'Pushed', values: all.pushed, fromZero: true, unit: rateUnit,
     hint: 'What all workers send to the servers'},
    {key: 'stale', title: 'Staleness (updates)', values: all.staleness, fromZero: true, unit: plain,
     whole: true,
     hint: 'Updates of others between a worker\'s last two values; of the worker with most'},
  ];
  for (const [name, report] of Object.entries(all.reports)) {
    panels.push({key: 'report ' + name, title: name, values: report.mean, low: report.low,
                 high: report.high, fromZero: false, unit: plain,
                 hint: 'Reported: the mean of the workers, and from the least to the most'});
  }
  return panels;
}

function drawCurves() {
  const drawn = course.age_s.length
    ? panelsOf(course).map((panel) => drawCurve(panel, course.age_s)) : [];
  $('curves').replaceChildren(...drawn.map((one) => one.box));
  for (const one of drawn) one.draw();
}

async function refreshCurves() {
  const fresh = await ask('history');
  if (!fresh.age_s || crosshair) return;  // Under the mouse a curve stands still.
  course = fresh;
  drawCurves();
}

window.addEventListener('resize', drawCurves);
