import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type LoadClosed, type PublishedLoad, published, type StageContext } from '../load/stages.ts';
import type { Log } from '../log.ts';
import { version } from '../package.ts';
import { hear } from './hear.ts';
import { inTime } from './in-time.ts';

/** How long sending the last spans may take, in milliseconds: a collector that is down must not delay the exit. */
const farewell = 5_000;

/**
 * Exports spans by OTLP over HTTP; the SDK reads the OTEL_* variables itself. Disposing sends the remaining spans. The SDK is
 * loaded only if `isOn`, because loading it takes longer than a command such as status.
 */
export async function startTracing({ isOn, log }: { isOn: boolean; log: Log }): Promise<AsyncDisposable> {
  if (!isOn) return { [Symbol.asyncDispose]: async () => {} };
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  tellTroubles(log);
  const ours = resources.resourceFromAttributes({ 'service.name': 'gmsi', 'service.version': version });
  const named = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new NodeTracerProvider({
    resource: ours.merge(named),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const endSpans = makeSpans(provider.getTracer('gmsi'));
  return {
    async [Symbol.asyncDispose]() {
      endSpans();
      await inTime(provider.shutdown(), farewell).catch((error: Error) => diag.warn(error.message));
      diag.disable();
    },
  };
}

/**
 * Makes a span for each load and stage that is published; the span of a stage is a child of the stage or load around it.
 * @returns a function that stops this
 */
function makeSpans(tracer: Tracer): () => void {
  const loads = new WeakMap<PublishedLoad, Span>();
  const spans = new WeakMap<StageContext, Span>();
  const current = new AsyncLocalStorage<Span>();
  const ends = [
    hear<PublishedLoad>(published.opened, (load) => {
      const about = { ...idsOf(load), 'gmsi.job': load.job.name, 'gmsi.command': load.command };
      loads.set(load, tracer.startSpan('load', { attributes: about }));
    }),
    hear<LoadClosed>(published.closed, ({ load, end }) => {
      const span = loads.get(load);
      span?.setAttributes({ 'gmsi.outcome': end.outcome, 'gmsi.records': load.totals.records });
      endSpan(span, end.error);
    }),
  ];
  for (const [name, { start, asyncEnd }] of Object.entries(published.stages)) {
    start.bindStore(current as AsyncLocalStorage<unknown>, (stage) => {
      const parent = current.getStore() ?? loads.get(stage.load);
      const within = parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = tracer.startSpan(name, { attributes: attributesOf(stage) }, within);
      spans.set(stage, span);
      return span;
    });
    ends.push(
      () => void start.unbindStore(current as AsyncLocalStorage<unknown>),
      hear<StageContext & { error?: unknown }>(asyncEnd, (stage) => endSpan(spans.get(stage), stage.error)),
    );
  }
  return () => {
    for (const end of ends) end();
  };
}

function endSpan(span: Span | undefined, error: unknown): void {
  if (error !== undefined) {
    const failure = error instanceof Error ? error : new Error(String(error));
    span?.recordException(failure);
    span?.setStatus({ code: SpanStatusCode.ERROR, message: failure.message });
  }
  span?.end();
}

function attributesOf({ load, about }: StageContext): Attributes {
  const own = Object.entries(about).map(([name, value]) => [`gmsi.${name}`, value]);
  return { ...idsOf(load), ...Object.fromEntries(own) };
}

/** Returns the attributes by which the rows of a span are found. */
function idsOf({ loadId, feed }: PublishedLoad): Attributes {
  return { 'gmsi.feed': feed.name, 'gmsi.load_id': loadId };
}

/**
 * Warns once if spans cannot be exported. The SDK repeats the error with each batch; repetitions are logged at level debug.
 */
function tellTroubles(log: Log): void {
  let isTold = false;
  const tell = (message: string, ...more: unknown[]) => {
    log[isTold ? 'debug' : 'warn']({ why: [message, ...more].join(' ') }, 'traces cannot be exported');
    isTold = true;
  };
  const ignore = () => {};
  const logger = { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
