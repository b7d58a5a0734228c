// SPDX-License-Identifier: Apache-2.0
// The data of the page: rows of one contender on one product each, the devices they were measured on, and what is chosen.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

/** A list of values as an object: a column whose name ends in # holds the numbers of texts, and ends may be missing. */
function named(columns, values) {
  const made = {};
  columns.forEach((column, i) => {
    const value = values[i] ?? null;
    if (column.endsWith('#')) made[column.slice(0, -1)] = value === null ? '' : data.words[value];
    else made[column] = value;
  });
  return made;
}

const products = data.products.map((values) => {
  const product = named(data.product_columns, values);
  const type = data.types[product.type];
  product.runNumber = product.run;
  product.run = data.runs[product.run];
  product.device = product.run.device;
  product.product = [product.batch > 1 ? `${product.batch} of ` : '', product.m, ' × ', product.n, ' × ', product.k].join('');
  // Speeds of different runs are not compared: another day, another clock.
  product.place = ['runNumber', 'type', 'product', 'layout', 'memory', 'accuracy', 'threads']
    .map((key) => product[key]).join('|');
  const work = product.m * product.n * product.k * product.batch;
  product.edge = Math.cbrt(work);
  product.cube = product.m === product.n && product.n === product.k && product.batch === 1;
  product.operations = type.operations * work;
  product.bytes = product.batch * ((product.m + product.n) * product.k * type.input + product.m * product.n * type.output);
  product.intensity = product.operations / product.bytes;
  return product;
});

/** One contender on one product each. */
const rows = data.rows.map((values) => {
  const row = named(data.row_columns, values);
  Object.assign(row, products[row.product]);
  row.seconds = row.gflops ? row.operations / (row.gflops * 1e9) : null;
  row.ours = row.contender === 'exactile' || row.contender.startsWith('exactile:');
  return row;
});

/** This library under another promise or configuration, as what a row is compared with. */
const isOwn = (name) => name.startsWith('exactile');

const unique = (values) => [...new Set(values)];
const devices = unique(rows.map((row) => row.device));

/** Products on which several kernels of this library were timed by name: there the kernel's name says who it is. */
const kernelsOf = new Map();
for (const row of rows) {
  if (row.contender !== 'exactile' || !row.kernel || row.gflops === null) continue;
  kernelsOf.set(row.place, (kernelsOf.get(row.place) ?? new Set()).add(row.kernel));
}
for (const row of rows) {
  const several = (kernelsOf.get(row.place)?.size ?? 0) > 1;
  row.series = row.contender.startsWith('exactile:') ? row.contender.slice('exactile:'.length)
    : several && row.contender === 'exactile' && row.kernel ? row.kernel : row.contender;
  const keepsIt = row.accuracy === 'standard' || (isOwn(row.contender) && !row.ours);
  row.label = keepsIt ? row.series : `${row.series}, ${row.accuracy}`;
}

const chosen = {type: '', accuracy: '', hidden: new Set()};

/** What the selectors leave. */
function selected(device) {
  return rows.filter((row) => (device === undefined ? !chosen.hidden.has(row.device) : row.device === device) &&
    (!chosen.type || row.type === chosen.type) && (!chosen.accuracy || row.accuracy === chosen.accuracy));
}

/** [[key, rows]...] in the order of first appearance. */
function grouped(list, key) {
  const groups = new Map();
  for (const item of list) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return [...groups];
}

const mean = (ratios) => Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

function digits(value, count = 3) {
  if (value === null || value === undefined || value === 0 || !Number.isFinite(value)) return value === 0 ? '0' : '';
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(count - 1)
    : size >= 10 ** (count - 1) ? value.toFixed(0) : String(Number(value.toPrecision(count)));
}

/** Operations a second, from 10^9 of them. */
function speedText(gflops) {
  if (gflops === null) return '';
  const [unit, name] = [[1e3, 'T'], [1, 'G'], [1e-3, 'M']].find(([size]) => gflops >= size) ?? [1e-6, 'k'];
  return `${digits(gflops / unit)} ${name}`;
}

function secondsText(seconds) {
  if (seconds === null) return '';
  const [unit, name] = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']].find(([size]) => seconds >= size) ??
    [1e-9, 'ns'];
  return `${digits(seconds / unit)} ${name}`;
}

/** Plotly reads tags and entities in its texts; these are names that others gave. */
const plain = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
