import type { ChatResult, ErrorBody, RouterMetadata } from 'signalbox';
import { expect } from 'vitest';
import { BACKED, FAULTY_KEY, HEALTHY_TEXT } from './fault-cell.ts';
import { readStream } from './sse-client.ts';

/** A full answer. Gives its metadata. */
export async function checkAnswer(response: Response, text: string, provider: string): Promise<RouterMetadata> {
  const body = await response.text();
  expect(response.status, body).toBe(200);
  expect(body).not.toContain(FAULTY_KEY);
  if (response.headers.get('content-type') === 'application/json') {
    const result = JSON.parse(body) as ChatResult;
    expect(result).toMatchObject({ provider, choices: [{ message: { content: text }, finish_reason: 'stop' }] });
    return metadataOf(result.router_metadata);
  }
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const { content, chunks, done, finishReasons } = readStream(body);
  expect({ content, done, finishReasons }).toEqual({ content: text, done: true, finishReasons: ['stop'] });
  expect(chunks.every((chunk) => chunk.provider === provider && chunk.error === undefined)).toBe(true);
  return metadataOf(chunks.at(-1)?.router_metadata);
}

/** The full answer of the second provider, after the first one failed. */
export async function checkFallback(response: Response): Promise<void> {
  const metadata = await checkAnswer(response, HEALTHY_TEXT, 'Healthy');
  expect(metadata.attempts).toEqual([
    { provider: 'Faulty', model: BACKED, status: expect.any(Number) as number },
    { provider: 'Healthy', model: BACKED, status: 200 },
  ]);
  expect(metadata.attempt).toBe(2);
  expect(metadata.attempts?.[0]?.status).not.toBe(200);
}

/** An error before anything was sent (outcome rules of faults). */
export async function checkError(response: Response, status: number, retryAfter: string | null): Promise<void> {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('retry-after')).toBe(retryAfter);
  expect(text).not.toContain(FAULTY_KEY);
  expect(text).not.toMatch(/<\w|<!/);
  const { error } = JSON.parse(text) as ErrorBody;
  expect(error.code).toBe(status);
  expect(error.message).toMatch(/\w/);
  expect(error.message.length).toBeLessThanOrEqual(600);
}

/** What came stays, then one error chunk, then the end mark. */
export async function checkBrokenStream(response: Response, code: number, partial: string): Promise<void> {
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).not.toContain(FAULTY_KEY);
  const { content, chunks, done, finishReasons } = readStream(text);
  expect({ content, done, finishReasons }).toEqual({ content: partial, done: true, finishReasons: ['error'] });
  const errors = chunks.flatMap(({ error }) => (error === undefined ? [] : [error]));
  expect(errors).toHaveLength(1);
  expect(errors[0]?.code).toBe(code);
  expect(errors[0]?.message).toMatch(/\w/);
  expect(chunks.at(-1)?.error).toBe(errors[0]);
}

function metadataOf(metadata: RouterMetadata | undefined): RouterMetadata {
  if (metadata === undefined) throw new Error('The answer has no router_metadata');
  return metadata;
}
