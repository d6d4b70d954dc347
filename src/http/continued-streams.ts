/** Goes on with the streams of instances that are gone: what is kept of a request for that, and how it is used. */
import type { Account } from '../contracts/account.ts';
import type { HttpCall } from '../contracts/exchange.ts';
import { ChunkEnvelope } from '../core/stream/envelope.ts';
import * as read from '../platform/json.ts';
import type { JsonObject } from '../protocol/json.ts';
import { errorOf } from '../protocol/router-error.ts';
import type { OpenedChat, OpenOptions, RouterInternals } from '../router/router.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import type { ContinuedStream } from '../runtime/chat/answer.ts';
import type { KeptStreams, TakenStream } from '../runtime/streams/kept-streams.ts';
import { lostEnding } from '../runtime/streams/lost-ending.ts';
import type { ErrorReplyContext } from './error-reply.ts';
import type { StreamWriting } from './frame-writer.ts';
import { itemsIn, keptText } from './kept-items.ts';
import { KeptFrames, type KeptFramesOptions } from './kept-frames.ts';
import type { Spelling } from './spelling.ts';
import type { FrameWriter } from './stream-frames.ts';

/** A call whose stream may be kept. */
export interface KeepableCall {
  readonly account: Account;
  readonly context: ErrorReplyContext;
  readonly body: unknown;
  readonly options: Pick<OpenOptions, 'sessionId' | 'anthropicBeta'>;
}

/** A stream that may be kept. */
export type KeepableChat = Extract<OpenedChat, { type: 'stream' }>;

/**
 * What another instance needs to go on with a stream; undefined where none may: that is not wanted, the answer is of
 * another kind or over, the request asks for zero data retention, or is too large.
 */
export function requestToKeep(
  { execution, ended }: ChatStreamSource,
  { context, body, options }: KeepableCall,
  maxBytes: number,
): string | undefined {
  const { continuing, request, attempts } = execution;
  if (ended || continuing?.isWanted !== true || request.preferences.zeroDataRetention) return undefined;
  const { spelling, wantsMetadata: metadata, headers } = context;
  const { id: endpoint, model, providerName: provider } = attempts.at(-1)?.step.endpoint ?? {};
  const { sessionId, anthropicBeta } = options;
  const kept = {
    body,
    options: { sessionId, anthropicBeta, metadata },
    spelling: { ...spelling },
    requestId: headers['x-request-id'],
    endpoint,
    model,
    provider,
  };
  const json = JSON.stringify(kept);
  return json.length > maxBytes ? undefined : json;
}

/** Lets a router go on with streams whose instances are gone. */
export function goOnWithStreams(
  internals: RouterInternals,
  streams: KeptStreams,
  writing: StreamWriting,
  waitUntil: HttpCall['waitUntil'],
): void {
  const goOn = (taken: TakenStream): void => {
    // A runtime that lives for its requests lives on for this one.
    waitUntil?.(taken.keeper.whenSettled());
    void goOnWith(internals, streams, writing, taken);
  };
  streams.goOn = goOn;
}

/** Goes on with a stream, or ends it as one that nobody goes on with. Never rejects. */
async function goOnWith(
  internals: RouterInternals,
  streams: KeptStreams,
  writing: StreamWriting,
  taken: TakenStream,
): Promise<void> {
  const { keeper, account, id, format, kept } = taken;
  try {
    const { frames, continuing } = await opened(internals, writing, taken);
    // It reads on by itself.
    void new KeptFrames({ frames, streams, keeper, account, id, continuing });
  } catch {
    if (await keeper.claimEnd()) keeper.push(lostEnding(format, id, kept, kept));
    await keeper.end();
  }
}

/**
 * The frames that follow.
 *
 * @throws Whatever keeps the stream from going on.
 */
async function opened(
  internals: RouterInternals,
  { StreamFrames, writerOf, answerFormat, loadApiFormat }: StreamWriting,
  { keeper, account, id, format, kept, request }: TakenStream,
): Promise<Pick<KeptFramesOptions, 'frames'> & { readonly continuing: ContinuedStream }> {
  const { config, pinned } = internals;
  const { body, options, spelling: spelled, requestId, endpoint, ...served } = read.parseObject(request) ?? {};
  const requested: JsonObject = read.object(body);
  const { sessionId, anthropicBeta, metadata } = read.object(options);
  const apiFormat = format === 'messages' || format === 'responses' ? await loadApiFormat(format) : undefined;
  const text = keptText(kept, format);
  const sent = { id, text, endpoint: read.string(endpoint), beforeEnd: () => keeper.claimEnd() };
  const chat = await pinned.open(requested, {
    account,
    metadata: metadata === true,
    sessionId: read.string(sessionId),
    anthropicBeta: read.string(anthropicBeta),
    apiFormat: apiFormat?.name,
    sent,
  });
  if (chat.type !== 'stream') throw errorOf(409, 'The request does not stream');
  const { stream } = chat;
  const spelling = read.object(spelled) as unknown as Spelling;
  const named = read.string(requestId);
  const context = {
    spelling,
    wantsMetadata: metadata === true,
    headers: named === undefined ? {} : { 'x-request-id': named },
  };
  const { environment, keepAlive, fallback } = config;
  const written = apiFormat && answerFormat(apiFormat, chat, { body: requested, context }, environment);
  const writer = writerOf(stream, context, written);
  const continued = new ContinuedWriter(writer, () => lostEnding(format, id, kept, kept));
  if (text !== undefined && apiFormat !== undefined) {
    const envelope = new ChunkEnvelope({
      id,
      created: Number(id.split('-')[1]),
      model: read.string(served['model']) ?? '',
      provider: read.string(served['provider']) ?? '',
    });
    const said = writer.items(itemsIn(kept, envelope));
    // What it would have said until now is what was said, or its next words would not fit.
    if (said !== withoutComments(kept)) throw errorOf(409, 'The stream cannot be written on');
  }
  const frames = new StreamFrames({
    source: stream,
    writer: continued,
    keepAlive,
    maxWaitMs: fallback.maxWaitMs,
    environment,
  });
  await frames.open();
  const { continuing } = stream.execution;
  if (continuing !== undefined) return { frames, continuing };
  await frames.return();
  throw errorOf(409, 'The request is not continued here');
}

/** Writes what follows; where nothing does, the end of a stream that nobody goes on with. */
class ContinuedWriter implements FrameWriter {
  readonly #writer: FrameWriter;
  readonly #lost: () => string;
  #hasSaid = false;

  constructor(writer: FrameWriter, lost: () => string) {
    this.#writer = writer;
    this.#lost = lost;
  }

  items(items: readonly StreamItem[]): string {
    this.#hasSaid = true;
    return this.#writer.items(items);
  }

  keepAlive(): string {
    return this.#writer.keepAlive();
  }

  end(): string {
    return this.#writer.end();
  }

  fail(thrown: unknown): string {
    return this.#hasSaid ? this.#writer.fail(thrown) : this.#lost();
  }
}

/** Frames without those that only keep a connection open. */
function withoutComments(frames: string): string {
  return frames.replaceAll(/^(?::[^\n]*|event: ping\ndata: [^\n]*)\n\n/gm, '');
}
