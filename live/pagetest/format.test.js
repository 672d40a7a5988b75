import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clock, count, duration, iso, percent, plural, rate, shown, time } from '../page/format.js';
import { units } from '../page/units.js';
import { random } from './random.js';

test('durations have three digits and a unit', () => {
  for (const [ms, want] of [
    [0, '0'], [1e-6, '1 ns'], [0.000999, '999 ns'], [0.001, '1.00 µs'], [0.0567, '56.7 µs'], [0.999, '999 µs'], [1, '1.00 ms'], [12.34, '12.3 ms'],
    [999, '999 ms'], [1000, '1.00 s'], [59_999, '60.0 s'], [60_000, '1 min 0 s'], [3_725_000, '62 min 5 s'], [-5, '-5.00 ms'],
  ]) assert.equal(duration(ms), want);
});

test('any duration is written to three digits', () => {
  const next = random(4);
  const factor = { ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 };
  for (let i = 0; i < 2000; i++) {
    const ms = 10 ** (next() * 9 - 4.5);
    const [n, unit] = duration(ms).split(' ');
    if (ms < 60e3) assert.ok(Math.abs(Number(n) * factor[unit] - ms) <= Math.max(ms * 0.0051, 0.5e-6), `${ms}: ${n} ${unit}`);
  }
});

test('shares, rates and counts', () => {
  assert.deepEqual([percent(1, 3), percent(0, 5), percent(5, 0), percent(7, 7)], ['33.3 %', '0.0 %', '0.0 %', '100.0 %']);
  assert.deepEqual([rate(0), rate(0.001), rate(0.5), rate(12.34), rate(1234.5)], ['0.00', '< 0.01', '0.50', '12.3', '1,235']);
  assert.deepEqual([count(0), count(undefined), count(1234567), count('12345')], ['0', '0', '1,234,567', '12,345']);
  assert.deepEqual([plural(0, 'span'), plural(1, 'span'), plural('1', 'span'), plural(2000, 'entry', 'entries')], ['0 spans', '1 span', '1 span', '2,000 entries']);
});

test('times of the day have all digits', () => {
  const at = new Date(2026, 0, 2, 3, 4, 5, 6).getTime();
  assert.equal(clock(at), '03:04:05.006');
  assert.equal(time(at), '03:04:05');
  assert.equal(iso(0), '1970-01-01T00:00:00.000Z');
});

test('what cannot be seen is shown as codes', () => {
  for (const [name, text, want] of [
    ['plain', 'GET /α 𝔘', 'GET /α 𝔘'],
    ['control', 'a\x00b\x1b[31mc\r\nd', 'a\\u0000b\\u001b[31mc\\u000d\\u000ad'],
    ['direction', 'safe\u202e\u2066x\u2069', 'safe\\u202e\\u2066x\\u2069'],
    ['separators', 'a\u2028b\u00a0c\u3000d', 'a\\u2028b\\u00a0c\\u3000d'],
    ['blank', '\u3164\u2800\ufe0f\u034f\u{e0100}\u{1d159}\u115f\u180b', '\\u3164\\u2800\\ufe0f\\u034f\\ue0100\\u1d159\\u115f\\u180b'],
    ['zero width', 'e\u200bf', 'e\\u200bf'],
    ['replacement', 'f\ufffd', 'f\\ufffd'],
    ['lone surrogate', 'a\ud800b', 'a\\ud800b'],
    ['markup stays text', '<img src=x onerror="x">', '<img src=x onerror="x">'],
    ['nothing', undefined, 'undefined'],
  ]) assert.equal(shown(text), want, name);
});

test('long texts are cut after characters', () => {
  assert.equal(shown('x'.repeat(200)), 'x'.repeat(200));
  assert.equal(shown('x'.repeat(201)), `${'x'.repeat(200)}…`);
  assert.equal(shown('𝔘'.repeat(300), 3), '𝔘𝔘𝔘…');
  assert.equal(shown('x'.repeat(1e6), 5), 'xxxxx…');
});

test('figures of charts have their units', () => {
  for (const [unit, n, want] of [
    ['bytes', 0, '0 B'], ['bytes', 1023, '1023 B'], ['bytes', 1024, '1.00 KiB'], ['bytes', 10 << 20, '10.0 MiB'], ['bytes', 2 ** 50, '1024 TiB'], ['bytes/s', 2048, '2.00 KiB/s'],
    ['count', 1234.4, '1,234'], ['1/s', 0, '0/s'], ['1/s', 0.0001, '< 0.001/s'], ['1/s', 0.05, '0.050/s'], ['1/s', 150, '150/s'],
    ['cores', 1, '1.00 core'], ['cores', 0.5, '0.50 cores'], ['goroutines', 3.14159, '3.14'], ['time', 12.3, '12.3 ms'],
  ]) assert.equal(units[unit](n), want, `${n} ${unit}`);
});
