import { type Attributes, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Series } from '../feeds/feed.ts';
import type { Load, Stage } from './load.ts';

/** Does almost nothing unless `observe/tracing.ts` has registered an exporter. */
const tracer = trace.getTracer('gmsi');

/** Starts a span within `parent`, or else within the span that this is called in. Whoever starts it ends it. */
export function startSpan(name: string, attributes: Attributes, parent?: Span): Span {
  const within = context.active();
  return tracer.startSpan(name, { attributes }, parent ? trace.setSpan(within, parent) : within);
}

/** Does work within a span and ends it; it keeps the error that ended the work. */
export async function inSpan<T>(span: Span, work: () => T | Promise<T>): Promise<T> {
  try {
    const result = await within(span, work);
    span.end();
    return result;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
}

/** Does work within a span that does not end with it. */
export function within<T>(span: Span, work: () => T): T {
  return context.with(trace.setSpan(context.active(), span), work);
}

/** Ends a span with an error. */
export function endFailed(span: Span, error: unknown): void {
  const failure = error instanceof Error ? error : new Error(String(error));
  span.recordException(failure);
  span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
  span.end();
}

/** Runs one stage of a page, and records it as a span and as an event with its duration. */
export async function atStage<T>(load: Load, stage: Stage, work: () => T | Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await inSpan(startSpan(stage, {}), work);
  } finally {
    const seconds = (performance.now() - startedAt) / 1000;
    load.onEvent({ type: 'stage', feed: load.feed.name, stage, seconds });
  }
}

/** A span's attributes for a series, without the dimensions that its feed does not have. */
export function seriesAttributes({ country, topic, ticker, match_type, variant }: Series): Attributes {
  const all = { country, topic, ticker, match_type, variant };
  const present = Object.entries(all).filter(([, value]) => value !== '');
  return Object.fromEntries(present.map(([name, value]) => [`gmsi.${name}`, value]));
}
