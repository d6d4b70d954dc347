/** Downloads files for models that do not fetch addresses themselves. */
import { OutboundError } from '../net/outbound-error.ts';
import { createOutbound, outboundToFiles } from '../net/outbound.ts';
import { systemEnvironment } from '../platform/environment.ts';
import type { Outbound } from '../net/outbound-request.ts';

/** A file as a {@link DownloadFile} brings it. */
export interface DownloadedFile {
  readonly data: Uint8Array;
  /** Default: what the address and the sort of the part say. */
  readonly mediaType?: string | undefined;
}

/**
 * Brings a file that a request names by its address, for models that do not fetch by themselves. The address comes from
 * a caller: whoever implements this decides which hosts may be called, and how much may be read.
 */
export type DownloadFile = (url: URL, signal: AbortSignal) => Promise<DownloadedFile>;

/** Most bytes of a file that is fetched for a model. */
const MAX_BYTES = 20_000_000;
/** Milliseconds that fetching one may take. */
const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 3;

/** A {@link DownloadFile} through the one entry point to addresses that users give. */
export interface GuardedDownload {
  readonly download: DownloadFile;
  close(): Promise<void>;
}

/** Fetches files of up to 20 MB from hosts on the public internet, within 20 seconds. */
export function guardedDownload(given?: Outbound): GuardedDownload {
  let outbound = given;
  return {
    async download(url, signal) {
      // Providers are made before their router says which hosts may be named.
      outbound ??= createOutbound(outboundToFiles(), systemEnvironment());
      const response = await outbound.fetch({
        url: url.href,
        signal,
        maxBytes: MAX_BYTES,
        timeoutMs: TIMEOUT_MS,
        maxRedirects: MAX_REDIRECTS,
      });
      const { status, truncated } = response;
      if (status !== 200) throw new OutboundError('unreachable', `The URL answered ${status}`);
      if (truncated) throw new OutboundError('refused', 'The URL leads to more than 20 MB');
      return { data: response.body, mediaType: response.header('content-type') };
    },
    close: async () => outbound?.close(),
  };
}

/** What went wrong with a download, fit for who gave the address. */
export function problemOfDownload(error: unknown): string {
  return error instanceof OutboundError ? error.message : 'The URL could not be fetched';
}
