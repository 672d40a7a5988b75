import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf, lengthOf } from '../page/control.js';
import { typeName } from '../page/events.js';
import { concerns } from '../page/health.js';
import { lastOf, merged, nearest, sampleAt, sampleByKey } from '../page/history.js';
import { name } from '../page/leaks.js';
import { bars, line } from '../page/plot.js';
import { lossesOf } from '../page/runtime.js';

const history = (instance, ...times) => ({ instance, every: 5000, maxSamples: 3, samples: times.map((at) => ({ at })) });
const times = (h) => h.samples.map((s) => s.at);

test('samples are merged, each once and no more than fit', () => {
  assert.deepEqual(times(merged(undefined, history('a', 1, 2))), [1, 2]);
  assert.deepEqual(times(merged(history('a', 1, 2), history('a', 2, 3, 4))), [2, 3, 4]);
  assert.deepEqual(times(merged(history('a', 1, 2), history('a', 2, 3))), [1, 2, 3]);
  assert.deepEqual(times(merged(history('a', 1), history('a', 1))), [1]);
  assert.deepEqual(times(merged(history('a', 1, 2), history('b', 7))), [7]);
  assert.deepEqual([lastOf(undefined), lastOf(history('a')), lastOf(history('a', 1, 9))], [undefined, undefined, 9]);
});

test('keys lead from sample to sample, and stop at the ends', () => {
  assert.deepEqual(['ArrowLeft', 'ArrowDown', 'ArrowRight', 'ArrowUp', 'PageUp', 'PageDown', 'Home', 'End', 'x'].map((key) => sampleByKey(key, 20, 30)), [19, 19, 21, 21, 29, 8, 0, 29, undefined]);
  assert.deepEqual([sampleByKey('ArrowLeft', 0, 5), sampleByKey('ArrowRight', 4, 5)], [0, 4]);
});

test('the sample at a time is the first one then or later, else the last', () => {
  const { samples } = history('a', 10, 20, 30);
  assert.deepEqual([null, 20, 25, 99, 0].map((at) => sampleAt(samples, at)), [2, 1, 2, 2, 0]);
  assert.deepEqual([0, 14, 16, 99].map((at) => nearest(samples, at).at), [10, 10, 20, 30]);
});

const parts = (d) => d.split('M').length - 1;

test('a line begins anew after a gap, and a value between two gaps is a dot', () => {
  const at = (i, heap, every = 1) => ({ at: i * 5000, interval: every * 5000, heap });
  const samples = [at(0, 1), at(1, 2), at(2, 3), at(5, 4), at(6, undefined), at(7, 5)];
  const x = (ms) => ms / 5000;
  assert.equal(line(samples, (s) => s.heap, x, (v) => v), 'M0.0 1.0h0L1.0 2.0L2.0 3.0M5.0 4.0h0M7.0 5.0h0');
  const asleep = [at(0, 1), at(12, 2, 12), at(13, 3), at(37, 4, 12)]; // a sample a minute is no gap
  assert.equal(line(asleep, (s) => s.heap, x, (v) => v), 'M0.0 1.0h0L12.0 2.0L13.0 3.0M37.0 4.0h0');
  assert.equal(parts(bars(samples, (s) => s.heap, x, (v) => v)), 5);
  assert.equal(bars([at(1, 0), at(2, -1), at(3, undefined)], (s) => s.heap, x, (v) => v), '');
});

test('losses are summed up by their cause', () => {
  const loss = (what, n, kind) => ({ losses: [{ what, n, kind }] });
  assert.deepEqual([...lossesOf([loss('did not fit', 2, 'mark'), {}, loss('did not fit', 3, 'mark'), loss('gone', 1)])], [['entries of type mark did not fit', 5], ['gone', 1]]);
});

test('concerns are of the last minute', () => {
  const titles = (...samples) => concerns(samples).map((c) => c.title);
  assert.deepEqual(titles(), []);
  assert.deepEqual(titles({ at: 0, latencies: { p99: 900 } }, { at: 60_000, latencies: { p99: 12 }, gcPauses: { max: 9 } }, { at: 65_000 }), ['Processors are busy']);
  assert.deepEqual(titles({ at: 0, latencies: { p99: 9.9 }, gcPauses: { max: 10 } }), ['Long GC pauses']);
  assert.deepEqual(titles({ at: 0, latencies: { p99: 900 } }, { at: 60_000 }), []);
});

test('a leak is named by the innermost function outside of the runtime', () => {
  assert.equal(name(['runtime.gopark proc.go:1', 'sync.(*WaitGroup).Wait wg.go:1', 'main.work main.go:7']), 'main.work');
  assert.equal(name(['runtime.gopark proc.go:1']), 'runtime.gopark');
  assert.equal(name([]), 'code that is not shown');
});

test('sessions have a length, and a cost once it is known', () => {
  const s = { state: 'recording', length: 500, limit: 2000, cost: 5 };
  assert.equal(lengthOf(s), '500 ms of 2.00 s');
  assert.equal(lengthOf({ ...s, state: 'ready' }), '500 ms');
  assert.equal(costOf(s), '5.00 ms of CPU for recording, 1.0 % of a core');
  assert.equal(costOf({ ...s, cost: 0 }), '');
});

test('types of events have short names', () => {
  assert.deepEqual(['EVENT_TYPE_REQUEST', undefined].map(typeName), ['request', '']);
});
