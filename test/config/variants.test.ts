import { describe, expect, test } from 'vitest';
import { variantsOf } from '../../src/config/resolve-series.ts';
import { eventMetricsQuery } from '../../src/feeds/event-metrics.ts';
import { tickerEvents } from '../../src/feeds/ticker-events.ts';

describe('variants of a job', () => {
  test('are the same in whatever order the parameters are written', () => {
    const one = variantsOf(tickerEvents, { parameters: { b: ['1'], a: ['2', '3'] } });
    expect(one).toEqual(['a=2&b=1', 'a=3&b=1']);
    expect(variantsOf(tickerEvents, { parameters: { a: ['2', '3'], b: ['1'] } })).toEqual(one);
  });

  test('a value that is written twice is asked for once', () => {
    expect(variantsOf(tickerEvents, { parameters: { a: ['1', '1'] } })).toEqual(['a=1']);
  });

  test('values that hold separators stay apart', () => {
    const variants = variantsOf(tickerEvents, { parameters: { a: ['x&b=1', 'x'], b: ['1'] } });
    expect(new Set(variants).size).toBe(2);
    expect(Object.fromEntries(new URLSearchParams(variants[0]))).toEqual({ a: 'x&b=1', b: '1' });
  });

  test('a body is one by its content, not by the order of its keys', () => {
    const of = (body: Record<string, unknown>) => variantsOf(eventMetricsQuery, { parameters: {}, body });
    expect(of({ tickers: ['A', 'B'], deep: { x: 1, y: 2 } })).toEqual(
      of({ deep: { y: 2, x: 1 }, tickers: ['A', 'B'] }),
    );
    expect(of({ tickers: ['A', 'B'] })).not.toEqual(of({ tickers: ['B', 'A'] }));
  });
});
