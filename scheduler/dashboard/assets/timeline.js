// SPDX-License-Identifier: Apache-2.0
// The last trace: what it says in a sentence, and its spans, node by node.
'use strict';

const kRow = 14;
const kLabel = 84;
const kFoot = 22;
const kMostRows = 6;  // Of one node.
const colours = {
  compute: '#4c78a8', input: '#b279a2', pull_wait: '#bab0ac', queue_wait: '#f2cf5b',
  send: '#54a24b', receive: '#439894', sum: '#e45756', update: '#ff9da6', preempt: '#9d755d',
  stage: '#83bcb6', codec: '#d67195', stall: '#7f3fbf',
};
const words = {
  compute: 'computing', input: 'reading input', pull_wait: 'waiting for a value',
  queue_wait: 'queued', send: 'sending', receive: 'receiving', sum: 'summing', update: 'updating',
  preempt: 'preempted', stage: 'copying', codec: 'codec', stall: 'stalled',
};

let shown = 0;
let lanes = [];
let view = {from: 0, to: 1};

async function refreshTrace() {
  const state = await ask('trace_state');
  $('state').textContent = state.state === 'none' || !state.state ? 'none yet' :
    `number ${state.number} is ${state.state}, ${state.records} spans. ${state.remark}`;
  $('start').disabled = state.state === 'running' || state.state === 'draining';
  if (state.state !== 'done' || state.number === shown) return;
  const trace = await ask('trace');
  if (!trace.nodes) return;
  shown = state.number;
  showTrace(trace);
}

// Spans of a node that overlap go to rows of their own.
function lanesOf(node) {
  const rows = [];
  const spans = [...node.spans].sort((a, b) => a[1] - b[1]);
  for (const span of spans) {
    let row = rows.findIndex((other) => other.until <= span[1]);
    if (row < 0 && rows.length < kMostRows) row = rows.push({until: 0, spans: []}) - 1;
    if (row < 0) row = rows.length - 1;
    rows[row].until = span[1] + span[2];
    rows[row].spans.push(span);
  }
  return rows.map((row, index) => ({name: index ? '' : node.name, spans: row.spans}));
}

function drawLegend() {
  const present = new Set(lanes.flatMap((lane) => lane.spans.map((span) => span[0])));
  const kinds = Object.keys(colours).filter((kind) => present.has(kind));
  $('legend').replaceChildren(...kinds.map((kind) => {
    const item = make('span');
    const colour = make('i');
    colour.style.setProperty('background', colours[kind]);
    item.append(colour, words[kind]);
    return item;
  }));
}

function showTrace(trace) {
  $('verdict').textContent = trace.report.verdict;
  lanes = trace.nodes.filter((node) => node.spans.length).flatMap(lanesOf);
  let end = 1;
  for (const lane of lanes) for (const span of lane.spans) end = Math.max(end, span[1] + span[2]);
  view = {from: 0, to: end};
  $('timeline').hidden = $('hint').hidden = !lanes.length;
  drawLegend();
  drawTimeline();
}

function timeText(us, length) {
  if (length >= 2e6) return (us / 1e6).toFixed(2) + ' s';
  if (length < 2000) return us.toFixed(0) + ' µs';
  return (us / 1000).toFixed(length >= 2e5 ? 0 : 2) + ' ms';
}

function drawTimeline() {
  const canvas = $('timeline');
  if (canvas.hidden) return;
  const dense = window.devicePixelRatio || 1;
  const [across, height] = [canvas.clientWidth, lanes.length * kRow + kFoot];
  canvas.width = Math.round(across * dense);
  canvas.height = Math.round(height * dense);
  canvas.style.setProperty('height', height + 'px');
  const pen = canvas.getContext('2d');
  pen.scale(dense, dense);
  const width = across - kLabel;
  const scale = width / (view.to - view.from);
  const styles = getComputedStyle(document.documentElement);
  const [ink, line] = [styles.getPropertyValue('--ink'), styles.getPropertyValue('--line')];
  pen.font = '11px system-ui, sans-serif';
  lanes.forEach((lane, index) => {
    const y = index * kRow;
    if (lane.name) {
      pen.fillStyle = line;
      pen.fillRect(0, y, across, 1);
      pen.fillStyle = ink;
      pen.fillText(lane.name, 6, y + 11);
    }
    for (const [kind, begin, length] of lane.spans) {
      const x = (begin - view.from) * scale;
      if (x > width || x + length * scale < 0) continue;
      const left = Math.max(0, x);
      pen.fillStyle = colours[kind] || ink;
      pen.fillRect(kLabel + left, y + 2, Math.max(1, Math.min(width, x + length * scale) - left),
                   kRow - 3);
    }
  });
  for (const time of ticksOf(view.from, view.to, width / 90)[0]) {
    const x = kLabel + (time - view.from) * scale;
    pen.fillStyle = line;
    pen.fillRect(x, 0, 1, height - kFoot + 4);
    pen.fillStyle = ink;
    pen.textAlign = x < kLabel + 20 ? 'left' : x > across - 40 ? 'right' : 'center';
    pen.fillText(timeText(time, view.to - view.from), Math.min(x, across - 4), height - 6);
  }
}

// Where in the trace a mouse is: time, and lane.
function placeOf(event) {
  const box = $('timeline').getBoundingClientRect();
  const share = (event.clientX - box.left - kLabel) / (box.width - kLabel);
  return {time: view.from + share * (view.to - view.from),
          lane: Math.floor((event.clientY - box.top) / kRow), share};
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
  const word = span && (words[span[0]] || span[0]);
  $('under').textContent = span
    ? `${word} ${span[3]} round ${span[4]}: ${(span[2] / 1000).toFixed(3)} ms` : '';
});

$('start').addEventListener('click', async () => {
  $('start').disabled = true;
  try {
    await ask('trace?seconds=2', {method: 'POST', headers: {'X-Stretto': '1'}});
  } catch (error) {
    $('state').textContent = String(error.message || error);
  }
});

window.addEventListener('resize', drawTimeline);
