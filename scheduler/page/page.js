// SPDX-License-Identifier: Apache-2.0
// Asks for the picture once a second and draws it; draws the last trace. Names come from programs,
// so they are only ever set as text. A token, where one is wanted, comes after # in the address.
'use strict';

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get('token');
const headers = token ? {Authorization: 'Bearer ' + token} : {};
const kWorthAWord = 0.25;  // Of the time; less is the noise of any job.
const kRow = 13;
const kLabel = 110;
const colours = {
  compute: '#4c78a8', input: '#b279a2', pull_wait: '#bab0ac', queue_wait: '#f2cf5b',
  send: '#54a24b', receive: '#439894', sum: '#e45756', update: '#ff9da6', preempt: '#9d755d',
  stage: '#83bcb6', codec: '#d67195', stall: '#222222',
};
const kinds = Object.keys(colours);

async function ask(path, options = {}) {
  const answer = await fetch(path, {...options, headers: {...headers, ...(options.headers || {})}});
  if (answer.status === 401) throw new Error('this page wants #token=... after its address');
  if (!answer.ok) throw new Error(path + ' was answered with ' + answer.status);
  return answer.json();
}

function bytes(rate) {
  if (rate >= 1e9) return (rate / 1e9).toFixed(2) + ' GB/s';
  if (rate >= 1e6) return (rate / 1e6).toFixed(1) + ' MB/s';
  return (rate / 1e3).toFixed(1) + ' kB/s';
}

function cell(row, text) {
  const td = document.createElement('td');
  td.textContent = text;
  row.append(td);
  return td;
}

// How long a worker waits for its data, and what is wrong with them.
function inputWord(input) {
  const word = input.word ? `, ${input.word}: ${Math.round(100 * input.share)} % of what it asks for` :
    input.limit ? `, held to ${Math.round(input.limit / 1024)} KiB` : '';
  return Math.round(100 * input.stall_share) + ' %' + word;
}

function drawNodes(nodes) {
  $('nodes').replaceChildren(...nodes.map((node) => {
    const row = document.createElement('tr');
    const worker = node.role === 'worker';
    if (node.held_share >= kWorthAWord) row.className = 'slow';
    if (node.left) row.className = 'left';
    cell(row, node.name);
    cell(row, worker ? node.rounds : '');
    cell(row, worker ? node.behind : '');
    cell(row, worker ? node.rounds_per_s.toFixed(1) : '');
    cell(row, worker ? node.staleness : '');
    cell(row, bytes(node.in_per_s));
    cell(row, bytes(node.out_per_s));
    cell(row, node.waiting);
    const share = cell(row, '');
    if (worker) {
      const bar = document.createElement('span');
      bar.className = 'bar';
      bar.style.setProperty('width', Math.round(80 * node.held_share) + 'px');
      share.append(bar, Math.round(100 * node.held_share) + ' %');
    }
    cell(row, node.input ? bytes(node.input.per_s) : '');
    cell(row, node.input ? inputWord(node.input) : '');
    cell(row, node.left ? 'has left' : node.silence_s.toFixed(1) + ' s');
    return row;
  }));
}

function svg(name, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

// Workers above, servers below, at most as many as can be read.
function drawCluster(nodes) {
  const width = $('cluster').clientWidth || 1200;
  const most = Math.floor(width / 80);
  const rows = ['worker', 'server'].map(
    (role) => nodes.filter((node) => node.role === role && !node.left).slice(0, most));
  const at = (row, index, y) => ({x: width * (index + 0.5) / row.length, y});
  const parts = [];
  rows[0].forEach((_, w) => rows[1].forEach((_, s) => {
    const [a, b] = [at(rows[0], w, 45), at(rows[1], s, 105)];
    parts.push(svg('line', {x1: a.x, y1: a.y, x2: b.x, y2: b.y}));
  }));
  rows.forEach((row, r) => row.forEach((node, index) => {
    const {x, y} = at(row, index, r === 0 ? 5 : 105);
    const slow = node.held_share >= kWorthAWord ? 'slow' : '';
    parts.push(svg('rect', {x: x - 36, y, width: 72, height: 40, rx: 5, class: slow}));
    parts.push(svg('text', {x, y: y + 16}, node.name));
    parts.push(svg('text', {x, y: y + 32}, bytes(node.out_per_s)));
  }));
  $('cluster').replaceChildren(...parts);
}

function drawStraggler(nodes) {
  const workers = nodes.filter((node) => node.role === 'worker' && !node.left);
  const slowest = workers.reduce(
    (a, b) => (a && a.held_share >= b.held_share ? a : b), undefined);
  const found = slowest && slowest.held_share >= kWorthAWord;
  $('straggler').className = found ? 'found' : '';
  $('straggler').textContent = found
    ? `${slowest.name}: the others wait for it ${Math.round(100 * slowest.held_share)} % of the time`
    : 'Nobody in particular.';
}

async function allNodes() {
  const first = await ask('picture');
  const nodes = first.nodes || [];
  for (let page = 1; nodes.length < (first.count || 0); ++page) {
    const more = (await ask('picture?page=' + page)).nodes;
    if (!more.length) break;
    nodes.push(...more);
  }
  return [first, nodes];
}

async function refresh() {
  try {
    const [picture, nodes] = await allNodes();
    const workers = nodes.filter((node) => node.role === 'worker');
    $('phase').textContent = 'job is ' + picture.phase;
    $('total').textContent =
      `${workers.length} workers, ${nodes.length - workers.length} shards, ` +
      bytes(workers.reduce((sum, node) => sum + node.out_per_s, 0)) + ' pushed';
    drawNodes(nodes);
    drawCluster(nodes);
    drawStraggler(nodes);
    await refreshTrace();
    $('error').hidden = true;
  } catch (error) {
    $('error').hidden = false;
    $('error').textContent = String(error.message || error);
    $('phase').textContent = 'no answer: has the job ended?';
  }
  setTimeout(refresh, 1000);
}

// ---- the trace

let shown = 0;
let lanes = [];
let view = {from: 0, to: 1};

async function refreshTrace() {
  const state = await ask('trace_state');
  $('state').textContent = state.state === 'none' || !state.state ? '' :
    `number ${state.number} is ${state.state}, ${state.records} spans. ${state.remark}`;
  $('start').disabled = state.state === 'running' || state.state === 'draining';
  if (state.state !== 'done' || state.number === shown) return;
  const trace = await ask('trace');
  if (!trace.nodes) return;
  shown = state.number;
  showTrace(trace);
}

// Spans of a node that overlap go to rows of their own, at most six.
function lanesOf(node) {
  const rows = [];
  const spans = [...node.spans].sort((a, b) => a[1] - b[1]);
  for (const span of spans) {
    let row = rows.findIndex((other) => other.until <= span[1]);
    if (row < 0 && rows.length < 6) row = rows.push({until: 0, spans: []}) - 1;
    if (row < 0) row = rows.length - 1;
    rows[row].until = span[1] + span[2];
    rows[row].spans.push(span);
  }
  return rows.map((row, index) => ({name: index ? '' : node.name, spans: row.spans}));
}

function showTrace(trace) {
  $('verdict').textContent = trace.report.verdict;
  lanes = trace.nodes.filter((node) => node.spans.length).flatMap(lanesOf);
  let end = 1;
  for (const lane of lanes) for (const span of lane.spans) end = Math.max(end, span[1] + span[2]);
  view = {from: 0, to: end};
  $('timeline').height = lanes.length * kRow + 22;
  $('legend').replaceChildren(...kinds.map((kind) => {
    const item = document.createElement('span');
    const colour = document.createElement('i');
    colour.style.setProperty('background', colours[kind]);
    item.append(colour, kind.replace('_', ' '));
    return item;
  }));
  drawTimeline();
}

function drawTimeline() {
  const canvas = $('timeline');
  const pen = canvas.getContext('2d');
  const width = canvas.width - kLabel;
  const scale = width / (view.to - view.from);
  const ink = getComputedStyle(document.body).color;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.font = '11px sans-serif';
  lanes.forEach((lane, index) => {
    const y = index * kRow;
    pen.fillStyle = ink;
    pen.fillText(lane.name, 4, y + 11);
    for (const [kind, begin, length] of lane.spans) {
      const x = (begin - view.from) * scale;
      if (x > width || x + length * scale < 0) continue;
      const left = Math.max(0, x);
      pen.fillStyle = colours[kind] || ink;
      pen.fillRect(kLabel + left, y + 1, Math.max(1, Math.min(width, x + length * scale) - left),
                   kRow - 2);
    }
  });
  pen.fillStyle = ink;
  for (let tick = 0; tick <= 8; ++tick) {
    const time = view.from + (view.to - view.from) * tick / 8;
    pen.fillText((time / 1000).toFixed(2) + ' ms', kLabel + width * tick / 8 - (tick === 8 ? 50 : 0),
                 lanes.length * kRow + 16);
  }
}

// Where in the trace a mouse is: time, and lane.
function placeOf(event) {
  const box = $('timeline').getBoundingClientRect();
  const x = (event.clientX - box.left) * $('timeline').width / box.width - kLabel;
  const y = (event.clientY - box.top) * $('timeline').height / box.height;
  const share = x / ($('timeline').width - kLabel);
  return {time: view.from + share * (view.to - view.from), lane: Math.floor(y / kRow), share};
}

$('timeline').addEventListener('wheel', (event) => {
  event.preventDefault();
  const {time, share} = placeOf(event);
  const length = (view.to - view.from) * (event.deltaY < 0 ? 0.8 : 1.25);
  view = {from: time - share * length, to: time + (1 - share) * length};
  drawTimeline();
}, {passive: false});

$('timeline').addEventListener('pointermove', (event) => {
  const {time, lane} = placeOf(event);
  if (event.buttons) {
    const by = -event.movementX * (view.to - view.from) / $('timeline').clientWidth;
    view = {from: view.from + by, to: view.to + by};
    drawTimeline();
  }
  const span = lanes[lane] &&
    lanes[lane].spans.find((one) => one[1] <= time && time <= one[1] + one[2] + 1);
  $('under').textContent = span
    ? `${span[0]} ${span[3]} round ${span[4]}: ${(span[2] / 1000).toFixed(3)} ms` : '';
});

$('start').addEventListener('click', async () => {
  $('start').disabled = true;
  try {
    await ask('trace?iterations=10', {method: 'POST', headers: {'X-Stretto': '1'}});
  } catch (error) {
    $('state').textContent = String(error.message || error);
  }
});

refresh();
