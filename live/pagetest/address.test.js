import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from './random.js';

// What the module needs of a browser.
globalThis.location = { hash: '#/counters' };
const steps = [];
globalThis.history = {
  pushState: (_, __, hash) => { steps.push(`push ${hash}`); location.hash = hash; },
  replaceState: (_, __, hash) => { steps.push(`replace ${hash}`); location.hash = hash; },
};
const { arrive, fields, hash, question, read, write } = await import('../page/address.js');

test('a view is told its address', () => {
  location.hash = '#/requests/ab/cd?row=1';
  assert.equal(arrive(), '/requests/ab/cd?row=1');
  location.hash = '';
  assert.equal(arrive(), '/');
});

test('a state is written as a step or in place, unless the reader is on the way to elsewhere', () => {
  location.hash = '#/';
  arrive();
  assert.equal(write('#/?text=a'), true);
  assert.equal(write('#/?text=b', true), true);
  location.hash = '#/counters'; // a link was followed; nobody is told yet
  assert.equal(write('#/?text=c'), false);
  assert.equal(location.hash, '#/counters');
  arrive();
  assert.equal(write('#/counters?x'), true);
  assert.deepEqual(steps, ['replace #/?text=a', 'push #/?text=b', 'replace #/counters?x']);
});

test('fields that are not known are left out, and others are trimmed', () => {
  const state = read(new URLSearchParams('text=+a+&window=start&sort=-p99&hack=1&min='));
  assert.equal(state.text, 'a');
  assert.equal(state.window, 'start');
  assert.equal(state.min, '');
  assert.ok(!('hack' in state));
  assert.equal(read(new URLSearchParams('window=year')).window, '');
  assert.equal(hash(read(new URLSearchParams(''))), '#/');
  assert.equal(hash(state), '#/?window=start&sort=-p99&text=a');
  assert.equal(question(state), 'text=a');
});

test('any state survives its address', () => {
  const next = random(5);
  const letters = [...'ab &=?#%+/"<>äöü中𝔘'];
  for (let i = 0; i < 500; i++) {
    const state = read(new URLSearchParams());
    for (const name of [...fields, 'sort']) {
      if (next() < 0.5) state[name] = Array.from({ length: 1 + next() * 5 }, () => letters[Math.floor(next() * letters.length)]).join('').trim();
    }
    const back = read(new URLSearchParams(hash(state).split('?').slice(1).join('?')));
    assert.deepEqual(back, state);
    assert.deepEqual([...new URLSearchParams(question(state)).keys()].filter((k) => !fields.includes(k)), []);
  }
});
