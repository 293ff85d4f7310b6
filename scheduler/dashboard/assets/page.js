// SPDX-License-Identifier: Apache-2.0
// Asks for the picture once a second, and draws the words and the table. Names come from programs,
// so they are only ever set as text. A token, where one is wanted, comes after # in the address.
'use strict';

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get('token');
const headers = token ? {Authorization: 'Bearer ' + token} : {};
const kWorthAWord = 0.25;  // Of the time; less is the noise of any job.
const kQuietSeconds = 10;

async function ask(path, options = {}) {
  const answer = await fetch(path, {...options, headers: {...headers, ...(options.headers || {})}});
  if (answer.status === 401) throw new Error('this page wants #token=... after its address');
  if (!answer.ok) throw new Error(path + ' was answered with ' + answer.status);
  return answer.json();
}

function make(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function bytes(rate) {
  const [size, unit] = rate >= 1e9 ? [rate / 1e9, ' GB/s'] :
    rate >= 1e6 ? [rate / 1e6, ' MB/s'] : [rate / 1e3, ' kB/s'];
  return size.toFixed(size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : 2) + unit;
}

const percent = (share) => Math.round(100 * share) + ' %';
const number = (value) => String(Number(value.toPrecision(4)));
const count = (many, one) => `${many} ${one}${many === 1 ? '' : 's'}`;

// ---- who is in

// What is wrong with a worker's data.
function inputWord(input) {
  if (input.word) return `input is ${input.word}: ${percent(input.share)} of what it asks for`;
  return input.limit ? `input is held to ${Math.round(input.limit / 1024)} KiB` : '';
}

function shareBar(share) {
  const bar = make('span', undefined, 'bar');
  const filled = make('i');
  filled.style.setProperty('width', Math.round(100 * share) + '%');
  bar.append(filled);
  return bar;
}

function rowOf(node, first, missing) {
  const row = make('tr');
  const worker = node.role === 'worker';
  const cell = (text, className) => row.appendChild(make('td', text, className));
  if (node.held_share >= kWorthAWord) row.classList.add('slow');
  if (worker && missing.has(node.rank)) row.classList.add('missing');
  if (node.left) row.classList.add('gone');
  if (first) row.classList.add('first');
  cell(node.name);
  cell(worker ? node.rounds : '');
  cell(worker ? node.rounds_per_s.toFixed(1) : '');
  cell(worker ? node.behind : '');
  cell(worker ? node.staleness : '');
  cell(bytes(node.in_per_s));
  cell(bytes(node.out_per_s));
  cell(node.waiting);
  const share = cell('');
  if (worker) {
    const held = missing.has(node.rank) ? 1 : node.held_share;  // Counted once the push has come.
    share.append(shareBar(held), make('span', percent(held), 'share'));
  }
  cell(node.input ? bytes(node.input.per_s) : '', 'input');
  const word = node.input ? inputWord(node.input) : node.standby ? 'stands by' : '';
  cell(node.input ? percent(node.input.stall_share) : '', 'input').title = word;
  cell(node.left ? (node.lost ? 'is lost' : 'has left') : node.silence_s.toFixed(1) + ' s');
  const reports = Object.entries(node.reports || {}).map(
    ([name, value]) => `${name} ${number(value)}`);
  if (word) reports.unshift(word);
  cell(reports.join(', '), 'wide left').title = reports.join('\n');
  return row;
}

function drawNodes(nodes, stall) {
  const missing = new Set(stall && stall.role === 'worker' ? [stall.rank] : []);
  const table = $('nodes').parentElement;
  table.classList.toggle('reads', nodes.some((node) => node.input));
  table.classList.toggle('reports', nodes.some(
    (node) => node.input || Object.keys(node.reports || {}).length));
  $('nodes').replaceChildren(...nodes.map((node, index) => rowOf(
    node, index > 0 && nodes[index - 1].role !== node.role, missing)));
}

function drawExchange(all) {
  $('exchange').replaceChildren(...all.map((chosen) => make(
    'li', `${count(chosen.tensors, 'tensor')} of ${bytes(chosen.bytes).replace('/s', '')} go by ` +
      (chosen.why || chosen.plan))));
}

// ---- in a sentence

let rounds = 0;
let roundsSince = performance.now();

// Since some worker last pushed another round, as far as this page has seen.
function secondsWithoutRound(workers) {
  const sum = workers.reduce((all, node) => all + node.rounds, 0);
  if (sum !== rounds) roundsSince = performance.now();
  rounds = sum;
  return (performance.now() - roundsSince) / 1000;
}

// [class, headline, sentence], the most urgent first.
function statusOf(picture, nodes) {
  const workers = nodes.filter((node) => node.role === 'worker' && !node.left);
  if (picture.phase === 'gathering') {
    return ['quiet', 'Gathering.', 'The job waits for all of its nodes.'];
  }
  if (picture.phase !== 'running') return ['quiet', 'Ending.', `The job is ${picture.phase}.`];
  if (picture.stall) {
    return ['bad', `Standstill for ${Math.round(picture.stall.s)} s:`, picture.stall.word + '.'];
  }
  const slowest = workers.reduce((a, b) => (a && a.held_share >= b.held_share ? a : b), undefined);
  if (slowest && slowest.held_share >= kWorthAWord) {
    return ['warn', `${slowest.name}:`,
            `the others wait for it ${percent(slowest.held_share)} of the time.`];
  }
  const quiet = Math.round(secondsWithoutRound(workers));
  if (quiet >= kQuietSeconds) {
    return ['quiet', `No round for ${quiet} s,`, 'and nobody is waited for: the workers compute.'];
  }
  return ['', 'Running.', 'Nobody in particular is waited for.'];
}

function drawStatus(picture, nodes) {
  const [className, headline, sentence] = statusOf(picture, nodes);
  $('status').className = className;
  $('headline').textContent = headline;
  $('straggler').textContent = sentence;
}

// ---- the loop

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
    $('phase').className = 'pill ' + (picture.phase === 'running' ? 'running' : '');
    $('total').textContent =
      `${count(workers.length, 'worker')}, ${count(nodes.length - workers.length, 'shard')}, ` +
      bytes(workers.reduce((sum, node) => sum + node.out_per_s, 0)) + ' pushed';
    drawStatus(picture, nodes);
    drawNodes(nodes, picture.stall);
    drawExchange(picture.exchange || []);
    await refreshCurves();
    await refreshTrace();
    $('error').hidden = true;
  } catch (error) {
    $('error').hidden = false;
    $('error').textContent = String(error.message || error);
    $('phase').textContent = 'no answer: has the job ended?';
    $('phase').className = 'pill';
  }
  setTimeout(refresh, 1000);
}

window.addEventListener('load', refresh);
