/** The entry point `signalbox/opentelemetry`. */

export { openTelemetry } from '../observe/opentelemetry/open-telemetry.ts';
export type { OpenTelemetryOptions } from '../observe/opentelemetry/send-telemetry.ts';
export type { RedactSpanContent, SpanContent, SpanContentPart, SpanMessage } from '../observe/opentelemetry/content.ts';
