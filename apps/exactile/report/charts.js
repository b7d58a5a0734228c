// SPDX-License-Identifier: Apache-2.0
// The charts: each a function from a device's rows to what Plotly draws, or to a sentence where there is nothing to draw.
'use strict';

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Okabe and Ito's colours, told apart by all eyes, without the blue that is ours.
const palette = ['#d55e00', '#009e73', '#cc79a7', '#e69f00', '#8c6bb1', '#7f7f00', '#c44e52', '#17a2b8', '#937860'];
const seriesNames = unique(rows.map((row) => row.series).filter((name) => name !== 'exactile'));
const colour = (name) => name === 'exactile' ? css('--ours') : palette[seriesNames.indexOf(name) % palette.length];
const symbols = ['circle', 'square', 'diamond', 'triangle-up', 'cross', 'x', 'star', 'triangle-down'];
const symbol = (name) => name === 'exactile' ? 'circle' : symbols[(1 + seriesNames.indexOf(name)) % symbols.length];

function layout(changes) {
  const axis = {gridcolor: css('--line'), zerolinecolor: css('--line'), linecolor: css('--line'), automargin: true};
  const {xaxis, yaxis, ...rest} = changes;
  return {
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', height: 430,
    font: {color: css('--ink'), size: 12}, margin: {l: 56, r: 14, t: 30, b: 48},
    modebar: {bgcolor: 'rgba(0,0,0,0)', color: css('--dim'), activecolor: css('--ours')},
    legend: {orientation: 'h', yref: 'container', y: 0, yanchor: 'bottom', font: {size: 11}}, hoverlabel: {font: {size: 12}},
    xaxis: {...axis, ...xaxis}, yaxis: {...axis, ...yaxis}, ...rest,
  };
}

/** Fits a chart into so many pixels: room below the axis for the legend, names no longer than a third of the width. */
function fit(chart, width) {
  const most = Math.max(8, Math.floor(width / 20));
  for (const axis of chart.named ?? []) {
    const names = axis === 'y' ? chart.traces[0].y : chart.traces[0].x;
    Object.assign(chart.layout[`${axis}axis`], {tickvals: names,
      ticktext: names.map((name) => name.length > most ? `${name.slice(0, most - 1)}…` : name)});
  }
  const names = chart.traces.filter((trace) => trace.showlegend !== false).map((trace) => trace.name ?? '');
  if (names.length < 2) return;
  const letters = names.join('').length / names.length;
  const lines = Math.ceil(names.length / Math.max(1, Math.floor((width - 70) / (52 + 6 * letters))));
  chart.layout.margin = {...chart.layout.margin, b: 58 + 22 * lines};
  chart.layout.height = 360 + 22 * lines;
}

/** Ticks in full or with a prefix (k, M, G, T): at 1, 2 and 5, or over more than three decades at powers of ten. */
function logarithmic(title, tickformat, values, more = {}) {
  const [low, high] = [Math.min, Math.max].map((end) => Math.log10(values.reduce((a, b) => end(a, b))));
  return {type: 'log', title: {text: title, standoff: 12}, tickformat, dtick: high - low > 3 ? 1 : 'D2', ...more};
}
const ofSpeeds = (list) => logarithmic('operations a second', '~s', list.map(speedOf));

const hover = (row) => [plain(row.product), plain(row.label) + (row.kernel && row.kernel !== row.series ?
  ` (${plain(row.kernel)})` : ''), `${speedText(row.gflops)}, ${secondsText(row.seconds)}`,
row.error ? `error ${digits(row.error, 2)}` : '', row.ratio ? `${digits(row.ratio)} × ${plain(row.rival)}` : '']
  .filter(Boolean).join('<br>');

/** Of points that would cover each other, the first: what falls into one cell of a grid over both logarithmic axes. */
function apart(list, x, y) {
  const cell = (of, cells) => {
    const logs = list.map((row) => Math.log(of(row)));
    const low = logs.reduce((a, b) => Math.min(a, b)), width = logs.reduce((a, b) => Math.max(a, b)) - low;
    return logs.map((log) => width ? Math.floor(cells * (log - low) / width) : 0);
  };
  const columns = cell(x, 120), lines = cell(y, 50);
  const taken = new Set();
  return list.filter((row, i) => taken.size < taken.add(`${columns[i]},${lines[i]}`).size);
}

const mostPoints = 1000;  // of one contender: more take a browser seconds

function scatter(name, all, x, y, more = {}) {
  const list = all.length > mostPoints ? apart(all, x, y) : all;
  return {type: 'scatter', mode: 'markers', name: plain(name), x: list.map(x), y: list.map(y), text: list.map(hover),
    hoverinfo: 'text', marker: markOf(all), ...more};
}

/** [[label, series, rows]...], each accuracy for itself. Ours last: drawn above the others. */
const byLabel = (list) => grouped(list, (row) => row.label).map(([label, of]) => [label, of[0].series, of])
  .sort(([, a], [, b]) => (a === 'exactile') - (b === 'exactile'));
/** Stars are accuracies other than standard. */
const markOf = (of) => ({color: colour(of[0].series), size: 8,
  symbol: of[0].accuracy === 'standard' ? symbol(of[0].series) : 'star'});
const speedOf = (row) => row.gflops * 1e9;

const ceilingsOf = (list) => unique(list.map((row) => row.run)).flatMap((run) => run.ceilings ? [run.ceilings] : []);

/** By type: what was measured on the spot, else what the rows' own fractions say. */
function peakOf(list) {
  const peaks = ceilingsOf(list).flatMap((c) => Object.entries(c.gflops ?? {}))
    .filter(([type]) => list.some((row) => row.type === type)).map(([, peak]) => peak);
  const implied = list.filter((row) => row.ours && row.of_peak && row.gflops).map((row) => row.gflops / row.of_peak);
  const all = peaks.length ? peaks : implied;
  return all.length ? all.sort((a, b) => a - b)[Math.floor(all.length / 2)] : null;
}

function speedChart(list) {
  const timed = list.filter((row) => row.gflops);
  if (!timed.length) return 'No speeds among these results.';
  const traces = byLabel(timed).flatMap(([name, series, of]) => {
    // Of several results at one edge (other runs, other layouts) the line goes through the fastest.
    const cubes = grouped(of.filter((row) => row.cube), (row) => row.edge)
      .map(([, same]) => same.reduce((a, b) => a.gflops >= b.gflops ? a : b)).sort((a, b) => a.edge - b.edge);
    const others = of.filter((row) => !cubes.includes(row));
    const shared = {legendgroup: name};
    const mark = markOf(of);
    return [
      ...(cubes.length ? [scatter(name, cubes, (row) => row.edge, speedOf,
        {...shared, mode: 'lines+markers', line: {color: mark.color, width: series === 'exactile' ? 3 : 1.5}})] : []),
      ...(others.length ? [scatter(name, others, (row) => row.edge, speedOf, {...shared,
        showlegend: !cubes.length, marker: {...mark, symbol: `${mark.symbol}-open`, size: 7}})] : []),
    ];
  });
  const peak = chosen.type ? peakOf(timed) : null;
  if (peak) {
    const edges = timed.map((row) => row.edge);
    traces.push({type: 'scatter', mode: 'lines', name: 'measured peak', x: [Math.min(...edges), Math.max(...edges)],
      y: [1e9 * peak, 1e9 * peak], line: {dash: 'dash', color: css('--dim'), width: 1}, hoverinfo: 'name'});
  }
  return {traces, layout: layout({xaxis: logarithmic('∛(m n k batch)', 'd', timed.map((row) => row.edge)),
    yaxis: ofSpeeds(timed)})};
}

/** [[product, rows]...] of one run each, that with the most contenders where several have the product. */
const ladderPlaces = (list) => grouped(grouped(list.filter((row) => row.gflops), (row) => row.place)
  .map(([, of]) => [of[0].product, of, unique(of.map((row) => row.series)).length]).filter(([, , count]) => count > 1)
  .sort((a, b) => b[2] - a[2]), ([product]) => product).map(([product, [[, of]]]) => [product, of]);

function ladderChart(list, product) {
  const places = ladderPlaces(list);
  const [shown, timed] = places.find(([name]) => name === product) ?? places[0] ?? [];
  if (!shown) return 'No product here was timed by more than one kernel or library.';
  const best = grouped(timed, (row) => row.series)
    .map(([, of]) => of.sort((a, b) => b.gflops - a.gflops)[0]).sort((a, b) => a.gflops - b.gflops);
  const trace = {type: 'bar', orientation: 'h', y: best.map((row) => plain(row.series)), x: best.map(speedOf),
    text: best.map((row) => speedText(row.gflops)), textposition: 'outside', cliponaxis: false, hovertext: best.map(hover),
    hoverinfo: 'text', marker: {color: best.map((row) => row.ours ? css('--ours') : colour(row.series))}};
  const low = Math.log10(speedOf(best[0])), high = Math.log10(speedOf(best[best.length - 1]));
  const range = [low - 0.25, high + 0.35 * Math.max(1, high - low)];
  const title = timed[0].accuracy === 'standard' ? shown : `${shown}, ${timed[0].accuracy}`;
  return {traces: [trace], title, named: ['y'], layout: layout({height: 110 + 24 * best.length, bargap: 0.25,
    xaxis: {...ofSpeeds(best), range}, yaxis: {type: 'category', autorange: 'reversed', ticksuffix: ' '}})};
}

function rooflineChart(list) {
  // Kernels that were timed by name stand in the charts above.
  const timed = list.filter((row) => row.gflops && Number.isFinite(row.intensity) && (!row.ours || row.series === 'exactile'));
  const peak = peakOf(timed);
  if (!timed.length || !peak) return 'No ceiling was measured with these results.';
  if (!chosen.type) return 'Ceilings are those of one type: choose one.';
  const bandwidths = ceilingsOf(timed).map((c) => c.gbytes_per_second).filter(Boolean);
  const traces = byLabel(timed).map(([name, , of]) => scatter(name, of, (row) => row.intensity, speedOf));
  const xs = timed.map((row) => row.intensity);
  const low = Math.min(...xs) / 2, high = Math.max(...xs) * 2;
  const ceiling = (name, x, y) => ({type: 'scatter', mode: 'lines', name, x, y: y.map((gflops) => 1e9 * gflops), hoverinfo: 'name',
    line: {color: css('--ink'), width: 1.5, dash: name === 'measured peak' ? 'solid' : 'dot'}});
  if (bandwidths.length) {
    const bandwidth = Math.max(...bandwidths), ridge = peak / bandwidth;
    traces.push(ceiling(`measured memory, ${digits(bandwidth)} GB/s`, [low, Math.max(low, ridge)],
      [low * bandwidth, Math.max(low * bandwidth, peak)]));
    traces.push(ceiling('measured peak', [Math.min(Math.max(low, ridge), high), high], [peak, peak]));
  } else {
    traces.push(ceiling('measured peak', [low, high], [peak, peak]));
  }
  return {traces, layout: layout({xaxis: logarithmic('operations for each byte', '~g', xs), yaxis: ofSpeeds(timed)})};
}

function errorChart(list) {
  const known = list.filter((row) => row.error && row.seconds);
  if (!known.length) return 'No errors with times among these results.';
  const traces = byLabel(known).map(([name, , of]) => scatter(name, of, (row) => row.seconds, (row) => row.error));
  return {traces, layout: layout({
    xaxis: logarithmic('time', '~s', known.map((row) => row.seconds), {ticksuffix: 's'}),
    yaxis: logarithmic('norm of the error over that of C', '.0e', known.map((row) => row.error))})};
}

function heatTrace(x, y, z, text) {
  const edge = 2; // of log2: a quarter to four times
  return {type: 'heatmap', x, y, z, text, texttemplate: y.length <= 40 && x.length <= 12 ? '%{text}' : undefined,
    hovertemplate: '%{y}<br>%{x}<br>%{text} ×<extra></extra>', zmin: -edge, zmax: edge, xgap: 1, ygap: 1,
    colorscale: [[0, css('--slower')], [0.5, css('--neutral')], [1, css('--faster')]],
    colorbar: {thickness: 12, tickvals: [-2, -1, 0, 1, 2], ticktext: ['¼', '½', '1', '2', '4'], outlinewidth: 0}};
}

const cellsOf = (table) => [table.map((line) => line.map((r) => r === null ? null : Math.log2(r))),
  table.map((line) => line.map((r) => r === null ? '' : digits(r)))];

/** Ours over each rival of a product: {rival: ratio}, with the best one's under its own name. */
function ratiosOf(of) {
  const ours = of.find((row) => row.contender === 'exactile' && row.gflops) ?? of.find((row) => row.contender === 'exactile');
  const ratios = {};
  if (!ours) return ratios;
  for (const row of of) if (!row.ours && row.gflops && ours.gflops) ratios[row.series] = ours.gflops / row.gflops;
  if (ours.ratio && !Object.keys(ratios).length) ratios[ours.rival || 'best rival'] = ours.ratio;
  return ratios;
}

function binnedHeat(products) {
  const bin = (value) => Math.floor(Math.log2(value));
  const cells = new Map();
  for (const [ratio, row] of products) {
    const key = `${bin(Math.min(row.m, row.n, row.k))},${Math.round(Math.log2(row.edge ** 3) / 2) * 2}`;
    cells.set(key, [...(cells.get(key) ?? []), ratio]);
  }
  const axis = (index) => unique([...cells.keys()].map((key) => Number(key.split(',')[index]))).sort((a, b) => a - b);
  const sides = axis(0), work = axis(1);
  const [z, text] = cellsOf(sides.map((s) => work.map((w) => cells.has(`${s},${w}`) ? mean(cells.get(`${s},${w}`)) : null)));
  return {traces: [heatTrace(work.map((w) => `2^${w}`), sides.map((s) => `${2 ** s} to ${2 ** (s + 1) - 1}`), z, text)],
    layout: layout({xaxis: {type: 'category', title: {text: 'multiply-adds, about'}},
      yaxis: {type: 'category', title: {text: 'shortest side'}}})};
}

function heatChart(list) {
  const products = grouped(list, (row) => row.place).map(([, of]) => [ratiosOf(of), of[0]])
    .filter(([ratios]) => Object.keys(ratios).length).sort((a, b) => a[1].edge - b[1].edge);
  if (!products.length) return 'No rival was timed beside these results.';
  if (products.length > data.most_products)
    return binnedHeat(products.map(([ratios, row]) => [Math.min(...Object.values(ratios)), row]));
  const rivals = unique(products.flatMap(([ratios]) => Object.keys(ratios)));
  const labels = products.map(([, row]) => [row.product, chosen.type ? '' : row.type,
    row.accuracy === 'standard' ? '' : row.accuracy, row.layout].filter(Boolean).join(' '));
  // A label that is there twice would be one line of the map.
  const once = labels.map((label, i) => plain(label) + '\u200b'.repeat(labels.slice(0, i).filter((l) => l === label).length));
  const [z, text] = cellsOf(products.map(([ratios]) => rivals.map((rival) => ratios[rival] ?? null)));
  return {traces: [heatTrace(rivals.map(plain), once, z, text)], named: ['x', 'y'],
    layout: layout({height: 150 + 21 * products.length, xaxis: {type: 'category', tickangle: -30},
      yaxis: {type: 'category', autorange: 'reversed', ticksuffix: ' '}})};
}
