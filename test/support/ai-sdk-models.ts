import {
  type AiSdkModel,
  type AiSdkModelOptions,
  type AttemptFailure,
  type Choice,
  type ReportedUsage,
  type SpecVersion,
  type StreamPiece,
  type UpstreamResult,
  fromAiSdk,
} from 'signalbox';
import type { ProviderHarness } from 'signalbox/testing';
import { expect } from 'vitest';
import { ResultCollector } from '../../src/core/stream/collect.ts';
import type { UpstreamCallOptions } from '../../src/providers/ai-sdk/model.ts';
import { callOnce, outcomeOf } from '../../src/testing/provider-checks/harness.ts';
import type { Body } from './chat-bodies.ts';

/** A part of a stream, or of a whole answer, of any version. */
export type Part = Readonly<Record<string, unknown>> & { readonly type: string };

/** What a {@link handMade} model does. */
export interface HandMade {
  readonly version?: SpecVersion;
  /** Name of the SDK's provider. Default `anthropic.messages`. */
  readonly provider?: string;
  readonly modelId?: string;
  readonly supportedUrls?: unknown;
  /** Parts of its stream; an error as the last of them breaks the stream. */
  readonly parts?: readonly (Part | Error)[];
  /** Its whole answer. Default: one that says `Hello`. */
  readonly answer?: unknown;
  /** Thrown by both of its functions. */
  readonly throws?: unknown;
}

/** A model that was made by hand, and the calls that it got. */
export interface RecordingModel extends AiSdkModel {
  readonly calls: UpstreamCallOptions[];
}

/** A whole answer of a version that says a text. */
export function wholeOf(version: SpecVersion, content: readonly Part[] = [{ type: 'text', text: 'Hello' }]): object {
  return { content, finishReason: finishOf(version, 'stop'), usage: usageOf(version), warnings: [] };
}

/** The finish reason of a version. */
export function finishOf(version: SpecVersion, unified: string, raw?: string): unknown {
  return version === 'v2' ? unified : { unified, raw: raw ?? (unified === 'other' ? undefined : unified) };
}

/** Usage of a version: 20 tokens in, of which 12 were cached, and 7 out, of which 3 were reasoning. */
export function usageOf(version: SpecVersion): object {
  if (version === 'v2') {
    return { inputTokens: 20, outputTokens: 7, totalTokens: 27, reasoningTokens: 3, cachedInputTokens: 12 };
  }
  return {
    inputTokens: { total: 20, noCache: 8, cacheRead: 12, cacheWrite: undefined },
    outputTokens: { total: 7, text: 4, reasoning: 3 },
  };
}

/** Makes a model. */
export function handMade(options: HandMade = {}): RecordingModel {
  const { version = 'v4', provider = 'anthropic.messages', modelId = 'hand-made', supportedUrls = {} } = options;
  const calls: UpstreamCallOptions[] = [];
  return {
    specificationVersion: version,
    provider,
    modelId,
    supportedUrls,
    calls,
    doGenerate(call: UpstreamCallOptions) {
      calls.push(call);
      if (options.throws !== undefined) return Promise.reject(options.throws);
      return Promise.resolve(options.answer ?? wholeOf(version));
    },
    doStream(call: UpstreamCallOptions) {
      calls.push(call);
      if (options.throws !== undefined) return Promise.reject(options.throws);
      return Promise.resolve({ stream: streamOf(options.parts ?? helloParts(version)) });
    },
  };
}

/** The parts of a stream that says `Hello`. */
export function helloParts(version: SpecVersion): readonly Part[] {
  return [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Hel' },
    { type: 'text-delta', id: '0', delta: 'lo' },
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: finishOf(version, 'stop'), usage: usageOf(version) },
  ];
}

function streamOf(parts: readonly (Part | Error)[]): ReadableStream<Part> {
  const left = [...parts];
  return new ReadableStream({
    pull(controller) {
      const part = left.shift();
      if (part === undefined) controller.close();
      else if (part instanceof Error) controller.error(part);
      else controller.enqueue(part);
    },
  });
}

/** How a call of a model came out. */
export interface Answer {
  readonly pieces: readonly StreamPiece[];
  readonly failure: AttemptFailure | undefined;
  readonly choice: Choice | undefined;
  readonly usage: ReportedUsage | undefined;
  readonly result: UpstreamResult;
}

/** How a model is asked. */
export interface AskingModel extends Omit<AiSdkModelOptions, 'id'> {
  readonly stream?: boolean | undefined;
  readonly apiKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Asks a model through its provider, as the router would. */
export async function askModel(model: AiSdkModel, body: Body = {}, asking: AskingModel = {}): Promise<Answer> {
  const { stream = false, apiKey, signal, ...options } = asking;
  const provider = fromAiSdk(model, { slug: 'sdk', ...options, id: 'acme/one' });
  const reply = await callOnce({ provider } as ProviderHarness, { stream, body, apiKey, signal });
  const { pieces, failure } = await outcomeOf(reply);
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const result = collector.result();
  return { pieces, failure, result, choice: result.choices[0], usage: result.usage };
}

/** Asks for an answer in both forms, which must say the same. */
export async function answerOf(model: AiSdkModel, body: Body = {}, asking: AskingModel = {}): Promise<Answer> {
  const streamed = await askModel(model, body, { ...asking, stream: true });
  const whole = await askModel(model, body, asking);
  expect(whole.result).toEqual(streamed.result);
  expect(whole.failure).toEqual(streamed.failure);
  return whole;
}

/** Asks a model, and gives the call that it got. */
export async function callOf(
  model: RecordingModel,
  body: Body = {},
  asking: AskingModel = {},
): Promise<UpstreamCallOptions> {
  const { failure } = await askModel(model, body, asking);
  const call = model.calls.at(-1);
  if (call === undefined) throw new Error(`the model was not called: ${failure?.message}`);
  return call;
}
