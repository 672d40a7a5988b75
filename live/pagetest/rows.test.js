import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsOf, pathOf } from '../page/lanes.js';
import { textOf } from '../page/find.js';
import { shareOf } from '../page/path.js';
import { above, groupFacts, nameOf, rowsOf, timeOf } from '../page/rows.js';
import { closedAtFirst, hiddenBelow } from '../page/waterfall.js';
import { random } from './random.js';

const span = (id, depth, more = {}) => ({ id, depth, name: `span ${id}`, kind: 'internal', scope: 'app', start: 10 * Number(id), took: 5, ...more });

test('rows are spans, with what ran in them and their marks below them', () => {
  const rows = rowsOf({ session: 3, rows: [
    span('1', 0, { samples: 2, sampled: 4, hot: [{ name: 'f', time: 4 }] }),
    span('2', 1, { marks: [{ name: 'a', at: 1 }, { name: 'b', at: 2 }] }),
  ] });
  assert.deepEqual(rows.map((r) => [r.key, r.type, r.depth, r.parent]), [
    ['1', 'span', 0, true], ['1.ran', 'ran', 1, true], ['1.stacks', 'stacks', 2, false],
    ['2', 'span', 1, true], ['2.0', 'mark', 2, false], ['2.1', 'mark', 2, false],
  ]);
  assert.deepEqual(rows.map(nameOf), ['span 1', 'ran 4.00 ms', 'stacks', 'span 2', 'a', 'b']);
  assert.deepEqual(rowsOf({ rows: [span('1', 0, { hot: [] })] }).map((r) => r.type), ['span', 'ran'], 'without a session there are no stacks');
  assert.deepEqual(rowsOf({ rows: null }), []);
});

test('a row says that the parent of its spans is missing', () => {
  const rows = rowsOf({ rows: [span('0', 0), span('1', 1, { orphan: true }), span('2', 1, { orphan: true })], groups: [{ rows: [1, 2], count: 2, took: 10, longest: 5, slowest: '1' }] });
  assert.deepEqual(rows.map(nameOf), ['span 0', 'span 1 × 2 (parent missing)', 'span 1 (parent missing)', 'span 2 (parent missing)']);
});

test('a sample that stands for more than its span took is counted', () => {
  const [, ran] = rowsOf({ rows: [span('1', 0, { took: 5, samples: 1, sampled: 10, hot: [] })] });
  assert.equal(nameOf(ran), 'ran in 1 sample');
});

// Spans 1 and 4 are equal; 3 is between them, and 2 below 1.
const grouped = {
  rows: [span('0', 0), span('1', 1), span('2', 2), span('3', 1), span('4', 1, { took: 7 })],
  groups: [{ rows: [1, 4], count: 2, took: 12, longest: 7, slowest: '4' }],
};

test('equal spans are below one row, also where others are between them', () => {
  const rows = rowsOf(grouped);
  assert.deepEqual(rows.map((r) => [r.key, r.depth]), [['0', 0], ['1.group', 1], ['1', 2], ['2', 3], ['4', 2], ['3', 1]]);
  const group = rows[1];
  assert.equal(nameOf(group), 'span 1 × 2');
  assert.equal(groupFacts(group.group), '12.0 ms in all, slowest 7.00 ms');
  assert.deepEqual(timeOf(group), { start: 10, took: 37 });
  assert.deepEqual(timeOf(rows[4]), { start: 40, took: 7 });
});

test('a mark has a time and no length', () => {
  const rows = rowsOf({ rows: [span('1', 0, { marks: [{ name: 'm', at: 3 }] })] });
  assert.deepEqual(timeOf(rows[1]), { start: 3, took: 0 });
});

test('the rows above are listed from the innermost', () => {
  const rows = rowsOf(grouped);
  assert.deepEqual(above(rows, 3).map((r) => r.key), ['1', '1.group', '0']);
  assert.deepEqual(above(rows, 5).map((r) => r.key), ['0']);
  assert.deepEqual(above(rows, 0), []);
});

test('rows below a closed row are hidden, and rows beside it are not', () => {
  const rows = rowsOf(grouped);
  const closed = closedAtFirst(rows);
  assert.deepEqual([...closed].map((r) => r.key), ['1.group']);
  assert.deepEqual([...hiddenBelow(rows, closed)].map((r) => r.key), ['1', '2', '4']);
  assert.equal(hiddenBelow(rows, new Set()).size, 0);
  assert.equal(hiddenBelow(rows, new Set([rows[0], rows[1]])).size, 5);
});

test('of what ran, the span with the most samples is open at first, unless they are too many', () => {
  const ran = (id, samples) => span(id, Number(id), { samples, sampled: 1, hot: [] });
  const open = (...rows) => {
    const all = rowsOf({ session: 1, rows });
    const closed = closedAtFirst(all);
    return all.filter((r) => r.type === 'ran' && !closed.has(r)).map((r) => r.span.id);
  };
  assert.deepEqual(open(ran('0', 5), ran('1', 9), ran('2', 9)), ['1']);
  assert.deepEqual(open(ran('0', 5), ran('1', 3001)), ['0']);
  assert.deepEqual(open(ran('0', 3001)), []);
});

test('of any tree, each span is one row, below its parent', () => {
  const next = random(3);
  for (let round = 0; round < 200; round++) {
    const spans = [span('0', 0)];
    for (let i = 1; i < 2 + next() * 30; i++) spans.push(span(String(i), 1 + Math.floor(next() * (spans.at(-1).depth + 1))));
    // Brothers that are not one below the other are a group.
    const parent = spans.map((s, i) => spans.findLastIndex((p, n) => n < i && p.depth < s.depth));
    const of = Math.floor(next() * spans.length);
    const group = spans.map((_, i) => i).filter((i) => i > 0 && parent[i] === parent[of]);
    const groups = group.length > 1 ? [{ rows: group, count: group.length, took: 1, longest: 1, slowest: '' }] : [];
    const rows = rowsOf({ rows: spans, groups });
    assert.deepEqual(rows.filter((r) => r.type === 'span').map((r) => r.key).sort(), spans.map((s) => s.id).sort());
    rows.forEach((row, i) => {
      if (row.type !== 'span' || row.span.id === '0') return;
      const up = above(rows, i).find((r) => r.type === 'span');
      assert.equal(up.span.id, spans[parent[Number(row.span.id)]].id, `of ${row.key} in ${rows.map((r) => `${' '.repeat(r.depth)}${r.key}`).join('\n')}`);
      assert.equal(row.parent, (rows[i + 1]?.depth ?? 0) > row.depth);
    });
  }
});

test('a search finds names, attributes, errors, functions and who ended waits', () => {
  const rows = rowsOf({ rows: [span('1', 0, {
    error: 'no such table', attributes: [{ key: 'db', value: 'sqlite' }], marks: [{ name: 'miss', at: 1, attributes: [{ key: 'k', value: 'v' }] }],
    hot: [{ name: 'main.f', time: 1 }], waits: [{ kind: 'mutex', in: 'main.lock', by: { function: 'main.hold', request: 'GET /x' } }],
    segments: [{ in: 0, by: 1 }, {}],
  })] });
  const texts = rows.map((r) => textOf(r, [{}, { function: 'main.other' }], ['main.in']).filter(Boolean));
  assert.deepEqual(texts[0], ['span 1', 'app', 'no such table', 'db=sqlite', 'mutex', 'main.lock', 'main.hold', 'GET /x', 'main.in', 'main.other']);
  assert.deepEqual(texts.slice(1), [['main.f'], ['miss', 'k=v']]);
});

test('the critical path is by span, and has shares', () => {
  const request = { took: 40, rows: [span('0', 0), span('1', 1)], path: [{ row: 0, start: 0, took: 10 }, { row: 1, start: 10, took: 20 }, { row: 0, start: 30, took: 10 }] };
  assert.deepEqual([...pathOf(request)].map(([id, parts]) => [id, parts.map((p) => p.start)]), [['0', [0, 30]], ['1', [10]]]);
  assert.equal(shareOf(request, [request.rows[0]]), '20.0 ms, 50.0 % of the request');
  assert.equal(shareOf(request, []), '');
});

test('a wait has one link at its end, on the innermost span', () => {
  const wait = { kind: 'mutex', class: 'waiting', start: 60, took: 15, wait: 15, by: 0 };
  const request = {
    took: 100, waits: { parties: [{ request: 'POST /index', trace: 'ab', span: 'cd' }, { request: 'unknown' }] },
    rows: [span('0', 0, { segments: [wait, { ...wait, start: 0, took: 1 }] }), span('1', 1, { segments: [wait] }), span('2', 1, { segments: [{ ...wait, start: 10, by: 1 }, { ...wait, start: 30, class: 'runnable' }] })],
  };
  const ends = endsOf(request);
  assert.deepEqual([...ends.keys()], ['1'], 'no link of short waits, of runnable goroutines and to requests that are gone');
  assert.deepEqual(ends.get('1').map((e) => [e.at, e.party.request]), [[0.75, 'POST /index']]);
});
