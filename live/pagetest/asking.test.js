import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { asker } from '../page/ask.js';
import { call, get, send } from '../page/get.js';
import { lastOf, merged } from '../page/history.js';
import { stream } from '../page/stream.js';

const { setTimeout: later } = globalThis;
const settle = async () => {
  for (let i = 0; i < 20; i++) await new Promise((done) => { later(done); }); // eslint-disable-line no-await-in-loop -- one turn after the other
};

// What the modules need of a browser: its parts are moved by hand.
let asked; // { path, options, ok, fail }
let timers;
let sources;
let hidden;
const pages = new EventTarget();
globalThis.document = Object.assign(pages, {});
Object.defineProperty(document, 'hidden', { get: () => hidden });
globalThis.EventSource = class extends EventTarget {
  static CLOSED = 2;
  readyState = 0;
  constructor(path) {
    super();
    this.path = path;
    sources.push(this);
  }
  close() { this.readyState = 2; }
  open() { this.readyState = 1; this.onopen(); }
  refuse() { this.readyState = 2; this.onerror(); }
  lose() { this.readyState = 0; this.onerror(); }
  send(kind, data) { this.dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data) })); }
};

beforeEach(() => {
  [asked, timers, sources, hidden] = [[], new Map(), [], false];
  globalThis.fetch = (path, options) => new Promise((done, fail) => {
    options?.signal?.addEventListener('abort', () => fail(options.signal.reason));
    asked.push({ path, options, ok: (data, status = 200) => done(new Response(typeof data === 'string' ? data : JSON.stringify(data), { status })), fail: () => fail(new Error('down')) });
  });
  let n = 0;
  globalThis.setTimeout = (f) => {
    timers.set(++n, f);
    return n;
  };
  globalThis.clearTimeout = (id) => { timers.delete(id); };
});

test('an error has the server\'s words and the field that is wrong', async () => {
  const wrong = get('data/v1/requests?min=2');
  asked[0].ok({ error: 'a unit is missing', field: 'min' }, 400);
  await assert.rejects(wrong, { message: 'a unit is missing', field: 'min' });
  for (const [text, want] of [['Bad gateway\n', 'Bad gateway'], ['', 'status 502']]) {
    const none = get('x');
    asked.at(-1).ok(text, 502);
    await assert.rejects(none, { message: want }); // eslint-disable-line no-await-in-loop -- one after the other
  }
  const good = get('x');
  asked.at(-1).ok({ a: 1 });
  assert.deepEqual(await good, { a: 1 });
});

test('what changes something is posted as JSON', async () => {
  send('waits/arm', { length: 1 });
  const done = call('StopProfiler', { sessionID: 7 });
  const [first, second] = asked.map(({ path, options }) => [path, options.method, options.headers['Content-Type'], options.body]);
  assert.deepEqual(first, ['waits/arm', 'POST', 'application/json', '{"length":1}']);
  assert.deepEqual(second, ['rpc/perfline.profiler.v1.ProfilerService/StopProfiler', 'POST', 'application/json', '{"sessionID":7}']);
  asked[1].ok({ code: 'not_found', message: 'no session 7' }, 404);
  await assert.rejects(done, { message: 'no session 7' });
});

test('a question replaces another one, and a repeated one waits for its answer', async () => {
  const got = [];
  const a = asker((d) => got.push(d), (e) => got.push(e.message));
  a.ask('one');
  a.ask('one');
  assert.equal(asked.length, 1);
  a.ask('two');
  asked[0].ok('"late"');
  asked[1].ok('"two"');
  await settle();
  assert.deepEqual(got, ['two']);
  assert.ok(asked[0].options.signal.aborted);
  a.ask('two');
  asked[2].ok({ error: 'not now' }, 503);
  await settle();
  assert.deepEqual(got, ['two', 'not now']);
  a.ask('three');
  a.stop();
  asked[3].ok('"three"');
  await settle();
  assert.deepEqual(got, ['two', 'not now']);
});

const see = (on) => {
  hidden = !on;
  document.dispatchEvent(new Event('visibilitychange'));
};

// A page ignores answers to requests from before it was paused or hidden. At most one stream is open. A
// paused page has neither a stream nor a timer.
test('a stream turns into polling and back, and stops when nobody looks', async () => {
  const said = [];
  const s = stream(() => {}, (text) => said.push(text));
  const state = () => `${said.at(-1)}, ${sources.filter((x) => x.readyState < 2).length} open, ${timers.size} timers, asked ${asked.length}`;

  sources.at(-1).refuse();
  s.pause(true);
  asked.at(-1).fail();
  await settle();
  assert.equal(state(), 'paused, 0 open, 0 timers, asked 1');

  s.pause(false);
  sources.at(-1).refuse();
  see(false);
  asked.at(-1).fail();
  await settle();
  assert.equal(state(), 'connecting, 0 open, 0 timers, asked 2');

  see(true);
  sources.at(-1).refuse();
  see(false);
  see(true);
  sources.at(-1).open();
  asked.at(-1).ok({});
  await settle();
  assert.equal(state(), 'live, 1 open, 0 timers, asked 3');

  sources.at(-1).lose(); // it tries again by itself
  assert.equal(state(), 'connecting, 1 open, 0 timers, asked 3');

  sources.at(-1).refuse();
  asked.at(-1).ok({});
  await settle();
  assert.equal(state(), 'polling, 0 open, 1 timers, asked 4');
  for (let i = 0; i < 4; i++) { // five times in all, then a stream is tried again
    const [[id, f]] = timers;
    timers.delete(id);
    f();
    asked.at(-1).fail();
    await settle(); // eslint-disable-line no-await-in-loop -- one after the other
  }
  assert.equal(state(), 'offline, 0 open, 1 timers, asked 8');
  timers.values().next().value();
  assert.equal(sources.at(-1).readyState, 0);
  s.pause(true);
  assert.equal(said.at(-1), 'paused');
  see(false); // the listener of this test's stream hears no more of later tests
});

test('events of the stream are told by their kinds', () => {
  const got = [];
  const s = stream((kind, data) => got.push([kind, data]), () => {});
  sources.at(-1).send('page', { instance: 'a' });
  sources.at(-1).send('counts', []);
  sources.at(-1).send('unknown', 1);
  assert.deepEqual(got, [['page', { instance: 'a' }], ['counts', []]]);
  s.pause(true);
});

// A page without a stream asks for the samples after its last one, and merges them. Samples of another
// instance replace the others.
test('polling asks for new samples only', async () => {
  let history;
  const turn = async (samples, instance) => {
    const s = stream((kind, data) => { history = merged(history, data); }, () => {}, () => lastOf(history));
    sources.at(-1).refuse();
    asked.at(-1).ok({ runtime: { instance, maxSamples: 3, samples: samples.map((at) => ({ at })) } });
    await settle();
    s.pause(true);
    return [asked.at(-1).path, history.samples.map((x) => x.at).join()];
  };
  assert.deepEqual(await turn([1, 2], 'a'), ['data/v1/overview?after=', '1,2']);
  assert.deepEqual(await turn([2, 3, 4], 'a'), ['data/v1/overview?after=2', '2,3,4']);
  assert.deepEqual(await turn([7], 'b'), ['data/v1/overview?after=4', '7']);
});
