import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lostIn } from '../page/counters.js';
import { barOf, signed, without } from '../page/deltas.js';
import { changeOf, shade } from '../page/difference.js';
import { matches, moduleColumn, moduleOf, nameColumn, placeColumn, placeOf, sortOf, sorted, withoutPath } from '../page/functions.js';
import { keptOrder, nextSort, sorted as sortedRoutes, strips } from '../page/routetable.js';
import { random } from './random.js';

test('differences have a sign, and a bar from the middle', () => {
  assert.deepEqual([5, -5, 1e-7, 0].map(signed), ['+5.00 ms', '−5.00 ms', 'the same', 'the same']);
  assert.deepEqual(barOf(10, 10), { at: 0.5, width: 0.5 });
  assert.deepEqual(barOf(-10, 10), { at: 0, width: 0.5 });
  assert.deepEqual(barOf(-5, 10), { at: 0.25, width: 0.25 });
  assert.deepEqual(barOf(0, 0), { at: 0.5, width: 0 });
});

test('the side that has something is named, unless both have', () => {
  const of = (a, b) => without({ a: { samples: a }, b: { samples: b } }, (r) => !r.samples);
  assert.deepEqual([of(1, 1), of(1, 0), of(0, 1), of(0, 0)], ['', 'Only A', 'Only B', 'neither A nor B']);
});

test('a change is in time or in points of the whole', () => {
  assert.equal(changeOf({ a: 3, b: 1 }, true), '+2.00 ms');
  assert.equal(changeOf({ a: 0.25, b: 0.5 }, false), '−25.0 points');
  assert.equal(changeOf({ a: 0.5, b: 0.5004 }, false), 'the same');
  assert.equal(changeOf({ a: 0.5, b: 0.5004 }, true), '−400 ns');
});

test('the colour of a change has three steps for each side', () => {
  for (const [a, b, want] of [[1, 1, 'same'], [0, 0, 'same'], [1.2, 1, 'more1'], [2, 1, 'more2'], [5, 1, 'more3'], [1, 0, 'more3'], [0, 1, 'less3'], [1, 1.2, 'less1']]) {
    assert.equal(shade({ a, b }), want, `${a} and ${b}`);
  }
});

test('functions are named without folders', () => {
  for (const [name, want] of [
    ['main.main', 'main.main'], ['example.com/app/index.(*Index).Search', 'index.(*Index).Search'], ['a/b.F[c/d.T]', 'b.F[c/d.T]'], ['a/b.(*T[c/d.E]).M', 'b.(*T[c/d.E]).M'],
  ]) assert.equal(withoutPath(name), want);
});

test('functions have a module and a place', () => {
  assert.deepEqual([{ kind: 'dep' }, { kind: '' }, { module: 'std', version: 'go1.26' }, { module: 'example.com/a' }].map(moduleOf), ['unknown module', '', 'standard library go1.26', 'example.com/a']);
  assert.deepEqual([{ file: '/src/a.go', line: 7 }, { file: 'a.go' }, {}].map(placeOf), ['a.go:7', 'a.go', '']);
  const f = { name: 'main.F', module: 'example.com/App', file: '/src/Search.go' };
  assert.deepEqual(['main.f', 'app', 'search.go', 'nothing', ''].map((words) => matches(f, words)), [true, true, true, false, false]);
});

const number = { key: 'self', head: 'Self', cls: '', number: true, sort: (r) => r.self, cell: () => '' };
const columns = [nameColumn(() => ''), number, moduleColumn, placeColumn];
const functions = [['b', 2, 'z.go', 10], ['a', 2, 'z.go', 9], ['c', 7, 'a.go', 1]].map(([name, self, file, line]) => ({ f: { name, file, line }, self }));
const names = (sort, words = '') => sorted(functions, columns, sort, words).list.map((r) => r.f.name).join('');

test('numbers begin with the largest, texts with A; equal ones are by name', () => {
  assert.deepEqual([names('self'), names('-self'), names('name'), names('-name'), names('place')], ['cab', 'abc', 'abc', 'cba', 'cab']);
  assert.equal(names('name', 'z.go'), 'ab');
  assert.equal(names('name', 'nothing'), '');
});

test('an order that a table does not have is that of its first numbers', () => {
  assert.deepEqual([sortOf(columns, '-name'), sortOf(columns, 'hack'), sortOf(columns, undefined), sortOf([moduleColumn], 'x')], ['-name', 'self', 'self', 'module']);
});

const route = (name, count, more = {}) => ({ route: name, class: 'requests', count, failed: 0, perSecond: 1, p50: 1, p95: 1, p99: 1, max: 1, strip: [], failedIn: [], ...more });

test('routes are sorted by any column, either way, and by their names', () => {
  const rows = [route('b', 3, { failed: 3 }), route('a', 3, { p99: 9 }), route('c', 10, { failed: 1 })];
  const order = (sort) => sortedRoutes(rows, sort).map((r) => r.route).join('');
  assert.deepEqual(['-count', 'count', '-p99', 'route', '-route', '-share', 'hack', ''].map(order), ['cab', 'abc', 'abc', 'abc', 'cba', 'bca', 'cab', 'cab']);
  assert.deepEqual(rows.map((r) => r.route), ['b', 'a', 'c'], 'the rows themselves stay');
});

test('routes are sorted by their thresholds, and those without one are the last', () => {
  const rows = [route('a', 1, { slowFrom: 50 }), route('b', 1), route('c', 1, { slowFrom: 1000 })];
  assert.deepEqual(['slow', '-slow'].map((sort) => sortedRoutes(rows, sort).map((r) => r.route).join('')), ['acb', 'bca']);
});

test('a click on a head turns the order around', () => {
  assert.deepEqual([nextSort('-count', 'count'), nextSort('count', 'count'), nextSort('-count', 'p99'), nextSort('route', 'route'), nextSort('-count', 'route')], ['count', '-count', '-p99', '-route', 'route']);
});

test('rows keep their order while somebody uses them, and new ones are at the end', () => {
  const next = random(6);
  for (let i = 0; i < 100; i++) {
    const before = ['a', 'b', 'c', 'd', 'e'].filter(() => next() < 0.7);
    const rows = ['a', 'b', 'c', 'd', 'e', 'f'].sort(() => next() - 0.5).map((name) => route(name, 1));
    const got = keptOrder(rows, before).map((r) => r.route);
    assert.deepEqual(got.slice(0, before.length), before);
    assert.deepEqual(got.slice(before.length), rows.map((r) => r.route).filter((name) => !before.includes(name)));
  }
});

test('the strip of a route is the darker, the more requests', () => {
  const { strip, failures } = strips(route('a', 6, { strip: [0, 1, 5], failedIn: [2] }));
  assert.equal(strip, 'linear-gradient(to right, transparent 0.00% 33.33%, var(--heat2) 33.33% 66.67%, var(--heat6) 66.67% 100.00%)');
  assert.equal(failures, 'linear-gradient(to right, transparent 0.00% 33.33%, transparent 33.33% 66.67%, var(--bad) 66.67% 100.00%)');
  assert.equal(strips(route('a', 0)).strip, 'linear-gradient(to right, transparent 0.00% 100.00%)');
});

test('losses are added up', () => {
  assert.equal(lostIn([{ n: 3, lost: true }, { n: 100 }, { n: 4, lost: true }]), 7);
});
