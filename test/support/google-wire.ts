import { readFileSync } from 'node:fs';
import type { EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import type { NormalizedRequest } from '../../src/contracts/request.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { AnswerContext } from '../../src/providers/google/answer-reader.ts';
import { type EncodeContext, encodeGenerateRequest } from '../../src/providers/google/encode-request.ts';
import { GoogleStreamDecoder } from '../../src/providers/google/codec.ts';
import { type GeminiBody, geminiBodySchema } from './gemini-schema.ts';
import { acceptsOf } from '../../src/core/accepts.ts';
import * as records from '../../src/providers/accepts/google.ts';
import { serving } from './requests.ts';
import { OWN_KEY, piecesOf } from './wire.ts';
import type { StreamPiece } from '../../src/contracts/stream-piece.ts';

/** A chat request, or the members of one that a test is about. */
export type Asked = Partial<ChatRequest> & Readonly<Record<string, unknown>>;

/** What a request is written with, besides itself. */
export interface Encoding {
  /** Google's name of the model. Default `gemini-3-flash`. */
  readonly model?: string;
  readonly declared?: EndpointDeclaration;
  readonly vertex?: boolean;
  readonly safetySettings?: EncodeContext['safetySettings'];
  readonly recall?: EncodeContext['recall'];
}

const GEMINI = 'https://generativelanguage.googleapis.com/v1beta';
const VERTEX = 'https://aiplatform.googleapis.com/v1/publishers/google';

/** The body that goes to Google for a request. A body that Google would refuse fails the test. */
export function encodedForGoogle(body: Asked, encoding: Encoding = {}): GeminiBody {
  const { model = 'gemini-3-flash', declared = {}, vertex = false } = encoding;
  const request = serving({ up: { upstreamModel: model, ...declared } }).request(body);
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error('no endpoint');
  const context = {
    accepts: acceptsOf(vertex ? records.VERTEX : records.GOOGLE, endpoint.upstreamModel),
    surface: { vertex, baseURL: vertex ? VERTEX : GEMINI },
    safetySettings: encoding.safetySettings,
    recall: encoding.recall ?? (() => undefined),
  };
  const written = encodeGenerateRequest(request, endpoint, context);
  // What is written is what counts: members that are undefined do not go out.
  return geminiBodySchema.parse(JSON.parse(JSON.stringify(written)));
}

/** The turns that go to Google for messages. */
export function turnsOf(messages: ChatRequest['messages'], encoding: Encoding = {}): GeminiBody['contents'] {
  return encodedForGoogle({ messages }, encoding).contents;
}

/** Bytes of a file in `test/fixtures/google`. */
export function googleFixture(path: string): Uint8Array {
  return readFileSync(new URL(`../fixtures/google/${path}`, import.meta.url));
}

/** The same as text. */
export function googleFixtureText(path: string): string {
  return new TextDecoder().decode(googleFixture(path));
}

/** What the answer to a request is read with; generated ids begin with `call_test`. */
export function answerContextOf(body: Asked = {}, more: Partial<AnswerContext> = {}): AnswerContext {
  return {
    secrets: [OWN_KEY],
    wallClock: Date.UTC(2026, 10, 20, 12),
    request: requestOf(body),
    idPrefix: 'call_test',
    remember: () => {},
    ...more,
  };
}

/** A request for a model of Google's. */
export function requestOf(body: Asked = {}): NormalizedRequest {
  return serving({ up: { upstreamModel: 'gemini-3-flash' } }).request(body);
}

/** The pieces of a stream that comes in these chunks. */
export function decodeGoogleStream(
  chunks: readonly Uint8Array[],
  context: AnswerContext = answerContextOf(),
): Promise<readonly StreamPiece[]> {
  return piecesOf(
    chunks.map((chunk) => [chunk]),
    new GoogleStreamDecoder(context),
  );
}
