/** Recognises hosts that stop a process between two requests. */
import { readEnvironment } from './environment.ts';

/**
 * The name of the host when nothing may run in it between requests: timers do not fire there, or the process is frozen.
 * Undefined where a process goes on by itself.
 */
export function pausingHost(): string | undefined {
  const { navigator, EdgeRuntime } = globalThis as {
    readonly navigator?: { readonly userAgent?: string };
    readonly EdgeRuntime?: unknown;
  };
  if (EdgeRuntime !== undefined) return 'an edge runtime';
  if (navigator?.userAgent === 'Cloudflare-Workers') return 'Cloudflare Workers';
  if (readEnvironment('VERCEL') !== undefined) return 'Vercel Functions';
  return readEnvironment('AWS_LAMBDA_FUNCTION_NAME') === undefined ? undefined : 'AWS Lambda';
}
