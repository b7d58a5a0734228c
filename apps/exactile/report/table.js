// SPDX-License-Identifier: Apache-2.0
// The table of all rows: sorted by a column, filtered by words.
'use strict';

const columns = [
  {name: 'device', value: (row) => row.device},
  {name: 'product', value: (row) => row.product, order: (row) => row.edge},
  {name: 'type', value: (row) => row.type},
  {name: 'accuracy', value: (row) => row.accuracy},
  {name: 'layout', value: (row) => [row.layout, row.memory].filter(Boolean).join(', ')},
  {name: 'threads', number: true, value: (row) => row.threads ?? '', order: (row) => row.threads},
  {name: 'contender', value: (row) => row.contender},
  {name: 'kernel', value: (row) => row.kernel},
  {name: 'GFLOP/s', number: true, value: (row) => digits(row.gflops), order: (row) => row.gflops},
  {name: 'time', number: true, value: (row) => secondsText(row.seconds), order: (row) => row.seconds},
  {name: 'spread', number: true, value: (row) => row.spread ? `${digits(100 * row.spread, 2)} %` : '',
    order: (row) => row.spread},
  {name: 'of peak', number: true, value: (row) => row.of_peak ? `${digits(100 * row.of_peak)} %` : '',
    order: (row) => row.of_peak},
  {name: 'error', number: true, value: (row) => digits(row.error, 2), order: (row) => row.error},
  {name: 'over best rival', number: true, value: (row) => row.ratio ? `${digits(row.ratio)} ×` : '',
    order: (row) => row.ratio},
  {name: 'best rival', value: (row) => row.rival},
];

const table = {sorted: null, descending: false, shown: data.rows_at_first};
for (const row of rows) row.searched = columns.map((column) => column.value(row)).join(' ').toLowerCase();

/** Numbers by size, words by letter; what is missing stands last either way. */
function compare(column) {
  const order = column.order ?? column.value;
  const sign = table.descending ? -1 : 1;
  const missing = (value) => value === null || value === undefined || value === '';
  return (left, right) => {
    const a = order(left), b = order(right);
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return sign * (typeof a === 'number' ? a - b : a.localeCompare(b, undefined, {numeric: true}));
  };
}

function matching() {
  const asked = document.getElementById('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = selected().filter((row) => asked.every((word) => row.searched.includes(word)));
  return table.sorted === null ? list : list.sort(compare(columns[table.sorted]));
}

function drawTable() {
  const list = matching();
  const shown = list.slice(0, table.shown);
  document.querySelector('#table tbody').replaceChildren(...shown.map((row) => element('tr', row.ours ? {class: 'ours'} : {},
    ...columns.map((column) => {
      const text = column.value(row) ?? '';
      const cell = element('td', {class: `${column.name.replace(/\W/g, '-')}${column.number ? ' number' : ''}`}, String(text));
      if (String(text).length > 30) cell.title = text;
      return cell;
    }))));
  document.getElementById('count').textContent = `${shown.length} of ${list.length} rows` +
    (list.length < rows.length ? `; ${rows.length} in all` : '');
  document.getElementById('more').hidden = shown.length === list.length;
}

function sortBy(index) {
  table.descending = table.sorted === index ? !table.descending : Boolean(columns[index].number);
  table.sorted = index;
  document.querySelectorAll('#table th').forEach((head, i) => {
    if (i === index) head.setAttribute('aria-sort', table.descending ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  });
  drawTable();
}

function makeTable() {
  document.querySelector('#table thead').append(element('tr', {}, ...columns.map((column, i) => {
    const button = element('button', {type: 'button'}, column.name);
    button.addEventListener('click', () => sortBy(i));
    return element('th', column.number ? {class: 'number', scope: 'col'} : {scope: 'col'}, button);
  })));
  document.getElementById('filter').addEventListener('input', () => {
    table.shown = data.rows_at_first;
    drawTable();
  });
  document.getElementById('more').addEventListener('click', () => {
    table.shown *= 4;
    drawTable();
  });
}
