// SPDX-License-Identifier: Apache-2.0
// What a reader chooses, and which chart stands where. Charts are drawn when they come into view.
'use strict';

const charts = {
  speed: (list) => speedChart(list),
  ladder: (list) => ladderChart(list, document.getElementById('product').value),
  heat: (list) => heatChart(list),
  roofline: (list) => rooflineChart(list),
  error: (list) => errorChart(list),
};

function draw(figure) {
  const chart = charts[figure.dataset.chart](selected(figure.dataset.device));
  const plot = figure.querySelector('.plot');
  Plotly.purge(plot);
  plot.replaceChildren();
  plot.style.height = '';
  figure.querySelector('h3').textContent = figure.dataset.device +
    (chart.title ? `: ${chart.title}` : '') + (chosen.type ? `, ${chosen.type}` : '');
  if (typeof chart === 'string') {
    plot.append(element('p', {class: 'empty'}, chart));
  } else {
    fit(chart, plot.clientWidth);
    plot.style.height = `${chart.layout.height}px`;  // what a change of width asks for again
    Plotly.newPlot(plot, chart.traces, chart.layout, {responsive: true, displaylogo: false,
      modeBarButtons: [['toImage', 'zoom2d', 'resetScale2d']]});
  }
  figure.dataset.drawn = 'yes';
}

const seen = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) {
    target.dataset.seen = isIntersecting ? 'yes' : '';
    if (isIntersecting && !target.dataset.drawn) draw(target);
  }
}, {rootMargin: '300px'});

/** All again, after a choice: those in view now, the others when they are. */
function redraw() {
  for (const figure of document.querySelectorAll('.figure')) {
    figure.hidden = chosen.hidden.has(figure.dataset.device);
    figure.dataset.drawn = '';
    if (figure.dataset.seen && !figure.hidden) draw(figure);
  }
  drawOverview();
  drawTable();
}

function facts(pairs) {
  return element('dl', {}, ...pairs.filter(([, value]) => value).flatMap(([name, value]) =>
    [element('dt', {}, name), element('dd', {}, String(value))]));
}

function overviewOf(device) {
  const list = selected(device);
  const ratios = grouped(list, (row) => row.place).map(([, of]) => {
    const ours = of.find((row) => row.contender === 'exactile' && row.ratio);
    if (ours) return isOwn(ours.rival) ? null : ours.ratio;
    const found = Object.entries(ratiosOf(of)).filter(([rival]) => !isOwn(rival)).map(([, ratio]) => ratio);
    return found.length ? Math.min(...found) : null;
  }).filter((ratio) => ratio);
  const card = element('div', {class: 'card'}, element('h3', {}, device));
  if (ratios.length) card.append(element('span', {class: 'large'}, `${digits(mean(ratios))} ×`),
    ' the best rival, geometric mean');
  card.append(facts([['products', unique(list.map((row) => row.place)).length], ['compared', ratios.length],
    ['ahead on', ratios.length ? `${digits(100 * ratios.filter((r) => r >= 1).length / ratios.length)} %` : ''],
    ['lowest', ratios.length ? `${digits(Math.min(...ratios))} ×` : ''],
    ['kernels', unique(list.filter((row) => row.contender.startsWith('exactile:')).map((row) => row.series)).length],
    ['rivals', unique(list.map((row) => row.contender)).filter((name) => !isOwn(name)).join(', ')]]));
  return card;
}

function drawOverview() {
  document.querySelector('#overview .cards').replaceChildren(
    ...devices.filter((device) => !chosen.hidden.has(device) && selected(device).length).map(overviewOf));
}

function drawRuns() {
  const named = (object) => Object.entries(object ?? {}).map(([name, text]) => `${name} ${text}`).join('; ');
  document.querySelector('#runs .cards').replaceChildren(...data.runs.map((run) => element('div', {class: 'card'},
    element('h3', {}, run.family), facts([['device', run.device], ['threads', run.threads], ['date', run.date],
      ['commit', run.commit], ['operands', run.operands], ['software', named(run.software)],
      ['contenders', named(run.contenders)], ['command', run.command], ['file', run.file]]))));
}

function fill(id, values, all, first) {
  const select = document.getElementById(id);
  select.replaceChildren(...(all ? [element('option', {value: ''}, all)] : []),
    ...values.map((value) => element('option', {value}, value)));
  if (first !== undefined) select.value = first;
}

function fillProducts() {
  const names = unique(devices.flatMap((device) => ladderPlaces(selected(device)).map(([name]) => name)));
  fill('product', names.slice(0, 500), 'the one with most contenders', '');
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById('theme').textContent = theme === 'dark' ? 'light' : 'dark';
}

function makeControls() {
  const types = grouped(rows, (row) => row.type).sort((a, b) => b[1].length - a[1].length).map(([type]) => type);
  const accuracies = unique(rows.map((row) => row.accuracy));
  chosen.type = types[0];
  fill('type', types, 'all', chosen.type);
  fill('accuracy', accuracies, 'all', '');
  document.getElementById('accuracy').parentElement.hidden = accuracies.length < 2;
  for (const id of ['type', 'accuracy'])
    document.getElementById(id).addEventListener('change', (event) => {
      chosen[id] = event.target.value;
      fillProducts();
      redraw();
    });
  document.getElementById('product').addEventListener('change', redraw);
  if (devices.length > 1)
    document.getElementById('devices').append(...devices.map((device) => {
      const box = element('input', {type: 'checkbox', checked: ''});
      box.addEventListener('change', () => {
        chosen.hidden[box.checked ? 'delete' : 'add'](device);
        redraw();
      });
      return element('label', {}, box, ` ${device}`);
    }));
  document.getElementById('theme').addEventListener('click', (event) => {
    setTheme(event.target.textContent);
    redraw();
  });
}

function makeFigures() {
  for (const name of Object.keys(charts))
    for (const device of devices) {
      const figure = element('div', {class: 'figure', 'data-chart': name}, element('h3'), element('div', {class: 'plot'}));
      figure.dataset.device = device;
      document.querySelector(`#${name} .figures`).append(figure);
      seen.observe(figure);
    }
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');
setTheme(dark.matches ? 'dark' : 'light');
makeControls();
fillProducts();
makeTable();
drawRuns();
makeFigures();
redraw();
dark.addEventListener('change', () => {
  setTheme(dark.matches ? 'dark' : 'light');
  redraw();
});
