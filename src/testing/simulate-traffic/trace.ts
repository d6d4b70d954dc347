import { BLOCK_TOKENS } from './block-cache.ts';
import type { TracedRequest } from './world.ts';

/**
 * Reads a trace of requests to language models: lines of JSON as Mooncake publishes them (`timestamp` in milliseconds,
 * `input_length`, `output_length`, `hash_ids` of blocks of 512 tokens), or CSV as Azure does (`TIMESTAMP`,
 * `ContextTokens`, `GeneratedTokens`). A request whose prompt goes on where that of an earlier one ended belongs to the
 * session of that one.
 *
 * @throws RangeError when a line is neither.
 */
export function readTrace(text: string): readonly TracedRequest[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const isCsv = lines[0]?.startsWith('TIMESTAMP') === true;
  const read = isCsv ? lines.slice(1).map(fromCsv) : lines.map(fromJson);
  const startMs = read.reduce((least, { atMs }) => Math.min(least, atMs), Infinity);
  return withSessions(
    read.map((one) => ({ ...one, atMs: one.atMs - startMs })).toSorted((left, right) => left.atMs - right.atMs),
  );
}

function fromCsv(line: string, index: number): TracedRequest {
  const [time = '', prompt, answer] = line.split(',');
  return checked({ atMs: Date.parse(`${time.trim().replace(' ', 'T')}Z`), ...lengths(prompt, answer) }, index + 1);
}

function fromJson(line: string, index: number): TracedRequest {
  const { timestamp, input_length: prompt, output_length: answer, hash_ids: ids } = JSON.parse(line);
  const blocks = Array.isArray(ids) ? { blocks: ids.map(String) } : {};
  return checked({ atMs: Number(timestamp), ...lengths(prompt, answer), ...blocks }, index);
}

function lengths(prompt: unknown, answer: unknown): Pick<TracedRequest, 'promptTokens' | 'answerTokens'> {
  return { promptTokens: Math.max(1, Number(prompt)), answerTokens: Math.max(1, Number(answer)) };
}

function checked(request: TracedRequest, index: number): TracedRequest {
  const { atMs, promptTokens, answerTokens } = request;
  if (Number.isFinite(atMs + promptTokens + answerTokens)) return request;
  throw new RangeError(
    `Line ${index + 1} of the trace needs a time and the tokens of the prompt and of the answer, like ` +
      '{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}',
  );
}

/** Finds out which requests continue another one. Blocks at the beginning that many share are no sign of it. */
function withSessions(requests: readonly TracedRequest[]): readonly TracedRequest[] {
  /** Sessions by the last whole block of their latest prompt. */
  const ends = new Map<string, string>();
  return requests.map((request, index) => {
    const { blocks = [], promptTokens } = request;
    const whole = blocks.slice(0, Math.floor(promptTokens / BLOCK_TOKENS));
    const continued = whole.findLast((block) => ends.has(block));
    const session = (continued === undefined ? undefined : ends.get(continued)) ?? `session-${index}`;
    const last = whole.at(-1);
    // A prompt of what all have in common is nobody's.
    if (last !== undefined && whole.length > 1) ends.set(last, session);
    return { ...request, session };
  });
}
