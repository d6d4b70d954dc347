import { CommandError } from './command.ts';

const TIMEOUT_MS = 60_000;
/** Most bytes that a source's data may have. */
const MAX_BYTES = 64_000_000;

/**
 * Fetches JSON.
 *
 * @throws {@link CommandError} when the address is not one, nobody answers well, or the answer is too long or not JSON.
 */
export async function downloadJson(url: string): Promise<unknown> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CommandError(`--url must be an http(s) address, not "${url}".`);
  }
  const text = await downloadText(url);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CommandError(`${url} did not answer with JSON.`);
  }
}

async function downloadText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) {
      await response.body?.cancel();
      throw new CommandError(`${url} answered ${response.status}.`);
    }
    return await readLimited(response, url);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { cause, message } = error as Error;
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
    throw new CommandError(`${url} could not be fetched: ${reason}. Is there a copy to use with --file?`);
  }
}

async function readLimited(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const bytes of response.body ?? []) {
    length += bytes.length;
    if (length > MAX_BYTES) throw new CommandError(`${url} answered with more than ${MAX_BYTES / 1e6} MB.`);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}
