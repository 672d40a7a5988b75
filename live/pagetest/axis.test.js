import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepOf, ticks, vars, windowOf, within } from '../page/axis.js';
import { random } from './random.js';

const part = (axis) => [axis.from, axis.to];

test('the whole is shown at first', () => {
  const axis = windowOf(100);
  assert.deepEqual(part(axis), [0, 100]);
  assert.ok(axis.whole);
  assert.equal(axis.length, 100);
  assert.deepEqual(vars(axis), { from: 0, zoom: 1 });
});

test('a part is within the whole', () => {
  for (const [name, from, to, want] of [
    ['a part', 20, 60, [20, 60]],
    ['before the start', -10, 30, [0, 40]],
    ['after the end', 90, 110, [80, 100]],
    ['more than the whole', -50, 150, [0, 100]],
    ['too short', 50, 50, [49.99995, 50.00005]],
    ['the wrong way round', 60, 40, [49.99995, 50.00005]],
  ]) {
    const axis = windowOf(100);
    axis.set(from, to);
    part(axis).forEach((x, i) => assert.ok(Math.abs(x - want[i]) < 1e-9, `${name}: ${part(axis)}, want ${want}`));
  }
});

test('what is no number changes nothing, and nobody is told', () => {
  const axis = windowOf(100);
  axis.listen(() => assert.fail('a listener was called'));
  axis.set(NaN, 50);
  axis.set(0, Infinity);
  axis.set(0, 100);
  assert.ok(axis.whole);
});

test('a zoom keeps its place, and a zoom out is its reverse', () => {
  const axis = windowOf(100);
  axis.zoom(1 / 2, 25);
  assert.deepEqual(part(axis), [12.5, 62.5]);
  axis.zoom(2, 25);
  assert.deepEqual(part(axis), [0, 100]);
  axis.zoom(1 / 1.5);
  assert.ok(Math.abs(axis.from - (50 - 100 / 3)) < 1e-9 && Math.abs(axis.to - (50 + 100 / 3)) < 1e-9, String(part(axis)));
  axis.zoom(10);
  assert.ok(axis.whole);
});

test('a pan keeps the length, and stops at the ends', () => {
  const axis = windowOf(100);
  axis.set(20, 40);
  axis.pan(0.2);
  assert.deepEqual(part(axis), [24, 44]);
  axis.pan(-10);
  assert.deepEqual(part(axis), [0, 20]);
  axis.pan(10);
  assert.deepEqual(part(axis), [80, 100]);
});

test('listeners are told of each change once', () => {
  const axis = windowOf(10);
  let told = 0;
  axis.listen(() => { told++; });
  axis.set(1, 2);
  axis.set(1, 2);
  axis.reset();
  axis.reset();
  assert.equal(told, 2);
});

test('after any moves, the part is within the whole and not too short', () => {
  const next = random(1);
  for (let round = 0; round < 200; round++) {
    const total = 10 ** (next() * 12 - 6);
    const axis = windowOf(total);
    for (let i = 0; i < 30; i++) {
      const x = () => (next() * 3 - 1) * total;
      [() => axis.set(x(), x()), () => axis.zoom(4 ** (next() * 2 - 1), x()), () => axis.pan(next() * 4 - 2)][Math.floor(next() * 3)]();
      const shortest = Math.min(total, Math.max(total / 1e6, 1e-4));
      assert.ok(axis.from >= 0 && axis.to <= total * (1 + 1e-12), `${part(axis)} of ${total}`);
      assert.ok(axis.length >= shortest * (1 - 1e-6), `${axis.length} of ${total}`);
      assert.equal(axis.whole, axis.from === 0 && axis.to === total);
    }
  }
});

test('the distance of ticks is round, and there are no more than n', () => {
  for (const [length, n, want] of [[100, 10, 10], [100, 9, 20], [100, 4, 50], [1, 3, 0.5], [7, 7, 1], [0.003, 5, 0.001]]) {
    const got = stepOf(length, n);
    assert.ok(Math.abs(got - want) < 1e-12, `${length} in ${n}: ${got}, want ${want}`);
  }
  const next = random(2);
  for (let i = 0; i < 500; i++) {
    const length = 10 ** (next() * 12 - 6);
    const n = 2 + Math.floor(next() * 20);
    const step = stepOf(length, n);
    assert.ok(length / step <= n * (1 + 1e-9), `${length} / ${step} > ${n}`);
    assert.ok(length / step > n / 2.5 - 1e-9, `${length} / ${step} is much less than ${n}`);
    assert.match((step / 10 ** Math.floor(Math.log10(step) + 1e-9)).toFixed(6), /^[125]\.000000$/);
  }
});

test('ticks have their times in one unit', () => {
  const axis = windowOf(100);
  assert.deepEqual(ticks(axis, 5).map((t) => t.text), ['0', '20 ms', '40 ms', '60 ms', '80 ms', '100 ms']);
  axis.set(20, 40);
  assert.deepEqual(ticks(axis, 4).map((t) => t.text), ['20 ms', '25 ms', '30 ms', '35 ms', '40 ms']);
  axis.set(30, 30.2);
  assert.deepEqual(ticks(axis, 2).map((t) => t.text), ['30.0 ms', '30.1 ms', '30.2 ms']);
  assert.deepEqual(ticks(windowOf(2500), 3).map((t) => t.text), ['0', '1 s', '2 s']);
  assert.deepEqual(ticks(windowOf(0.002), 2).map((t) => t.text), ['0', '1 µs', '2 µs']);
});

test('a share is cut at the ends', () => {
  assert.deepEqual([-1, 0, 0.5, 1, 2].map(within), [0, 0, 0.5, 1, 1]);
});
