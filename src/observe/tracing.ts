import { context, DiagLogLevel, diag, trace } from '@opentelemetry/api';
import type { Log } from '../log.ts';
import { version } from '../package.ts';
import { inTime } from './in-time.ts';

/** How long sending the last spans may take, in milliseconds: a collector that is down must not delay the end. */
const farewell = 5_000;

/**
 * Exports spans by OTLP over HTTP, as the OTEL_* variables say, which the SDK reads itself. Disposing sends what is left.
 * The SDK is loaded only if `isOn`, because loading it takes longer than a command such as status.
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
  provider.register();
  return {
    async [Symbol.asyncDispose]() {
      await inTime(provider.shutdown(), farewell).catch((error: Error) => diag.warn(error.message));
      trace.disable();
      context.disable();
      diag.disable();
    },
  };
}

/** The SDK reports with each batch that a collector is down; once is enough. */
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
