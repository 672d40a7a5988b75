import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsOf, drawnCalls, foundIn, placeIn } from '../page/flame.js';
import { cellByKey, cells, shade, steps } from '../page/heatmap.js';
import { laid, outermost } from '../page/stacks.js';
import { about, isSameWait, nextWait, resolved, short } from '../page/segments.js';
import { random } from './random.js';

const functions = ['all', 'a', 'b', 'c', 'd'].map((name) => ({ name, kind: 'own' }));
const node = (parent, f, total) => ({ parent, function: f, total, self: 0 });
const graph = { functions, nodes: [node(-1, 0, 100), node(0, 1, 60), node(1, 3, 30), node(1, 4, 20), node(0, 2, 40)] };
const nameOf = (n) => n.f.name;

test('calls are beside each other within their caller', () => {
  assert.deepEqual(callsOf(graph).map((n) => [nameOf(n), n.level, n.at]), [['all', 0, 0], ['a', 1, 0], ['c', 2, 0], ['d', 2, 30], ['b', 1, 60]]);
});

test('a zoom leaves out what is beside the call', () => {
  const calls = callsOf(graph);
  assert.deepEqual(drawnCalls(calls[1]).map(nameOf), ['all', 'a', 'c', 'd']);
  assert.deepEqual(placeIn(calls[1], calls[0]), { at: 0, width: 1 });
  assert.deepEqual(placeIn(calls[1], calls[3]), { at: 0.5, width: 20 / 60 });
  assert.deepEqual(placeIn(calls[4], calls[4]), { at: 0, width: 1 });
});

test('calls that are too narrow are not drawn until a zoom', () => {
  const calls = callsOf({ functions, nodes: [node(-1, 0, 1000), node(0, 1, 999.5), node(0, 2, 0.5), node(2, 3, 0.5)] });
  assert.deepEqual(drawnCalls(calls[0]).map(nameOf), ['all', 'a']);
  assert.deepEqual(drawnCalls(calls[2]).map(nameOf), ['all', 'b', 'c']);
});

test('the time of a call within another one that is found counts once', () => {
  const [all] = callsOf(graph);
  assert.deepEqual(foundIn(all, (n) => ['a', 'c', 'b'].includes(nameOf(n))), { hits: 3, time: 100 });
  assert.deepEqual(foundIn(all, () => false), { hits: 0, time: 0 });
});

test('of any tree, what is drawn lies within its caller', () => {
  const next = random(7);
  for (let round = 0; round < 100; round++) {
    const nodes = [node(-1, 0, 100)];
    const left = [100];
    for (let i = 1; i < 40; i++) {
      const parent = Math.floor(next() * nodes.length);
      const total = left[parent] * next();
      left[parent] -= total;
      left.push(total);
      nodes.push(node(parent, 1, total));
    }
    const calls = callsOf({ functions, nodes });
    const zoomed = calls[Math.floor(next() * calls.length)];
    if (zoomed.total <= 0) continue;
    for (const n of drawnCalls(zoomed)) {
      const { at, width } = placeIn(zoomed, n);
      assert.ok(at >= -1e-9 && at + width <= 1 + 1e-9, `${at} ${width}`);
      if (!n.up || n.level <= zoomed.level) continue;
      const outer = placeIn(zoomed, n.up);
      assert.ok(at >= outer.at - 1e-9 && at + width <= outer.at + outer.width + 1e-9);
    }
  }
});

test('shades begin with one request, and grow by equal factors', () => {
  assert.deepEqual(steps(1), [1]);
  assert.deepEqual(steps(3), [1, 2, 3]);
  assert.deepEqual(steps(1e6).slice(0, 5), [1, 10, 100, 1000, 10_000]);
  assert.deepEqual([0, 1, 9, 10, 1e6].map((n) => shade(n, steps(1e6))), [0, 1, 1, 2, 6]);
  const next = random(8);
  for (let i = 0; i < 300; i++) {
    const greatest = 1 + Math.floor(10 ** (next() * 6));
    const all = steps(greatest);
    assert.equal(all[0], 1);
    assert.ok(all.length <= 6 && all.every((least, k) => least <= greatest && (k === 0 || least > all[k - 1])), `${greatest}: ${all}`);
  }
});

const map = { of: 'x', start: 0, step: 10_000, bounds: [0, 1, 10, 100], counts: [[1, 2, 3], [4, 0, 6]], failed: [0, 1] };

test('a cell has its durations, its number and the fields that find its requests', () => {
  const of = cells(map);
  assert.equal(of.rows, 4);
  assert.deepEqual([0, 1, 3].map(of.range), ['failed', '10.0 ms to 100 ms', '0 to 1.00 ms']);
  assert.deepEqual([[0, 1], [1, 0], [3, 1], [2, 1]].map(([row, column]) => of.number({ row, column })), [1, 3, 4, 0]);
  assert.match(of.text({ row: 2, column: 1 }), /^..:..:10 to ..:..:20, 1\.00 ms to 10\.0 ms: none$/);
  assert.match(of.text({ row: 0, column: 1 }), /, failed: 1 request$/);
  assert.deepEqual(of.fields({ row: 3, column: 1 }), { from: '10000', to: '20000', min: '', max: '1ms' });
  assert.deepEqual(of.fields({ row: 1, column: 0 }), { from: '0', to: '10000', min: '10ms', max: '100ms' });
  assert.deepEqual(of.fields({ row: 0, column: 0 }), { from: '0', to: '10000', min: '', max: '', status: 'error' });
});

test('keys lead from cell to cell', () => {
  const [at, last] = [{ row: 2, column: 5 }, { row: 9, column: 29 }];
  const to = (key, ctrlKey = false) => Object.values(cellByKey({ key, ctrlKey }, at, last) ?? {}).join();
  assert.deepEqual(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown', 'x'].map((key) => to(key)),
    ['1,5', '3,5', '2,4', '2,6', '2,0', '2,29', '0,5', '9,5', '']);
  assert.deepEqual([to('Home', true), to('End', true)], ['0,0', '9,29']);
});

const samples = (...all) => all.map(([at, ...path]) => ({ at, weight: 10, path }));

test('neighbouring samples with the same calls are one box', () => {
  const { boxes, levels, left } = laid(samples([5, 0, 2], [15, 0, 1, 3], [25, 0, 1, 4], [35, 0, 2]), 10, 0, 100, 0);
  assert.deepEqual(boxes.map((b) => [b.stack, b.level, b.start, b.end, b.samples]),
    [[0, 0, 0, 40, 4], [2, 1, 0, 10, 1], [1, 1, 10, 30, 2], [3, 2, 10, 20, 1], [4, 2, 20, 30, 1], [2, 1, 30, 40, 1]]);
  assert.deepEqual([levels, left], [3, 0]);
});

test('a gap between samples is a gap between boxes', () => {
  const { boxes } = laid(samples([5, 0], [45, 0]), 10, 0, 100, 0);
  assert.deepEqual(boxes.map((b) => [b.start, b.end]), [[0, 10], [40, 50]]);
});

test('samples of several goroutines have lanes of their own, up to six', () => {
  const { boxes, levels, left } = laid(samples(...Array.from({ length: 8 }, () => [5, 0, 1])), 10, 0, 100, 0);
  assert.deepEqual([boxes.length, levels, left], [12, 12, 2]);
});

test('outer calls that all samples have are left out, up to the own code', () => {
  const all = samples([5, 0, 1, 2, 3], [15, 0, 1, 2, 4]);
  assert.equal(outermost(all, () => false), 3);
  assert.equal(outermost(all, (stack) => stack === 1), 1);
  assert.equal(outermost(samples([5]), () => false), 0);
  assert.deepEqual(laid(all, 10, 0, 100, 3).boxes.map((b) => b.stack), [3, 4]);
});

test('of any samples, each box lies within its caller', () => {
  const next = random(9);
  for (let round = 0; round < 100; round++) {
    let at = 0;
    const all = Array.from({ length: 60 }, () => {
      at += next() * 15;
      return { at, weight: 1, path: Array.from({ length: next() * 5 }, (_, depth) => depth * 10 + Math.floor(next() * 2)) };
    });
    const { boxes, left } = laid(all, 10, 0, at, 0);
    for (const b of boxes) {
      assert.ok(b.start <= b.end && b.start >= 0);
      if (b.up) assert.ok(b.up.start <= b.start && b.up.end >= b.end && b.up.level === b.level - 1, JSON.stringify([b.start, b.end, b.up.start, b.up.end]));
    }
    const counted = boxes.filter((b) => b.depth === 0).reduce((sum, b) => sum + b.samples, 0);
    assert.equal(counted + left - all.filter((s) => !s.path.length).length <= all.length, true);
  }
});

test('functions are named as in the sentence', () => {
  assert.deepEqual(['main.f', 'example.com/app.(*Index).Search', 'a/b.F[c/d.T]', 'sync.(*Mutex).Lock'].map(short), ['main.f', '(*Index).Search', 'b.F[c/d.T]', '(*Mutex).Lock']);
});

test('a part of a bar has the function and the party themselves, and is told in words', () => {
  const tables = { functions: ['app.(*Index).Search'], parties: [{ goroutine: 9, function: 'app.rebuild', request: 'POST /index' }] };
  const part = { kind: 'mutex', class: 'waiting', start: 0, took: 40, wait: 40, in: 0, by: 0 };
  assert.equal(about(resolved(part, tables)), 'mutex 40.0 ms in (*Index).Search, ended by app.rebuild of POST /index');
  assert.equal(about(resolved({ ...part, class: 'runnable', by: undefined }, tables)), 'mutex 40.0 ms in (*Index).Search');
  assert.equal(about(resolved({ kind: 'running', class: 'running', start: 0, took: 1 }, tables)), 'running 1.00 ms');
  assert.equal(about({ ...part, in: undefined, class: 'runnable', by: { goroutine: 7, own: true } }), 'mutex 40.0 ms, processor used by goroutine 7 of this request');
});

test('the next wait is after the part, and the one before it before', () => {
  const wait = (start) => ({ kind: 'mutex', class: 'waiting', start, took: 5, wait: 5 });
  const all = [wait(0), { kind: 'running', class: 'running', start: 5, took: 5 }, wait(10), undefined, wait(20)];
  assert.deepEqual([nextWait(all, null, true), nextWait(all, all[0], true), nextWait(all, all[4], true)], [all[0], all[2], undefined]);
  assert.deepEqual([nextWait(all, null, false), nextWait(all, all[4], false), nextWait(all, all[0], false)], [all[4], all[2], undefined]);
});

test('a wait is the same when parts are cut otherwise', () => {
  const wait = { kind: 'mutex', class: 'waiting', start: 10, took: 10, wait: 10 };
  assert.ok(isSameWait(wait, wait));
  assert.ok(isSameWait(wait, { ...wait, start: 12, took: 2 }));
  assert.ok(isSameWait({ ...wait, start: 12, took: 2 }, wait));
  assert.ok(!isSameWait(wait, { ...wait, start: 12, took: 2, wait: undefined }));
  assert.ok(!isSameWait(wait, { ...wait, start: 30 }));
});
