import { failure } from '../../core/fallback/failure.ts';
import { type StreamPiece, escapeText } from '../../core/stream/pieces.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { citationsDelta, fileDelta, sourceDelta } from './answer-extras.ts';
import { decodeUsage } from './decode-usage.ts';
import type { AiSdkFamily } from './families.ts';
import { readFinishReason } from './finish-reason.ts';
import { ReasoningBlocks } from './reasoning-blocks.ts';
import type { OriginalId } from '../tool-ids.ts';
import { imageId, textId } from '../signed-parts.ts';
import { readThoughtSignature } from './reasoning-formats.ts';
import { failureOfPart } from './thrown-failure.ts';
import { ToolInputs } from './tool-inputs.ts';
import { type WarningSink, judgeWarnings } from './warnings.ts';

/** What the decoder of one answer needs to know. */
export interface DecodingContext extends ErrorContext {
  readonly family: AiSdkFamily;
  readonly warnings: WarningSink;
  readonly signal: AbortSignal;
  /** Beginning of ids for tool calls that came without one. */
  readonly idPrefix: string;
  /** The caller's id of a tool call. */
  readonly originalId: OriginalId;
  /** False for a whole answer, which is read as if it had been streamed. */
  readonly streamed: boolean;
}

/** Turns the parts of an answer, of any version, into pieces. Parts of kinds that are not known mean nothing. */
export class PartDecoder {
  readonly #context: DecodingContext;
  readonly #reasoning: ReasoningBlocks;
  readonly #tools: ToolInputs;
  /** Characters of the answer before each text. */
  readonly #offsets = new Map<unknown, number>();
  #length = 0;
  #images = 0;
  #hasContent = false;
  #hasToolCalls = false;
  #finished = false;

  constructor(context: DecodingContext) {
    this.#context = context;
    this.#reasoning = new ReasoningBlocks(context.family.signature);
    this.#tools = new ToolInputs((index) => `${context.idPrefix}_0_${index}`, context.originalId);
  }

  /** Appends the pieces of one part. */
  part(part: unknown, pieces: StreamPiece[]): void {
    if (!isJsonObject(part)) return;
    switch (part['type']) {
      case 'stream-start': {
        const refused = judgeWarnings(part['warnings'], this.#context.warnings);
        if (refused !== undefined) pieces.push({ type: 'failure', failure: refused });
        break;
      }
      case 'response-metadata':
        if (isText(part['id'])) pieces.push({ type: 'facts', upstreamId: part['id'] });
        break;
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#text(part, pieces);
        break;
      case 'reasoning-start':
        this.#delta(this.#reasoning.start(part), pieces);
        break;
      case 'reasoning-delta':
        this.#delta(this.#reasoning.delta(part), pieces);
        break;
      case 'reasoning-end':
        this.#delta(this.#reasoning.end(part), pieces);
        break;
      case 'tool-input-start':
        this.#calls(this.#tools.start(part), pieces);
        break;
      case 'tool-input-delta':
        this.#calls(this.#tools.delta(part), pieces);
        break;
      case 'tool-call':
        this.#toolCall(part, pieces);
        break;
      case 'file':
        this.#file(part, pieces);
        break;
      case 'source':
        this.#delta(sourceDelta(part), pieces);
        break;
      case 'finish':
        this.#finish(part, pieces);
        break;
      case 'error':
        this.#fail(part['error'], pieces);
        break;
    }
  }

  /** There are no more parts. */
  end(pieces: StreamPiece[]): void {
    if (this.#finished) pieces.push({ type: 'end' });
  }

  #text({ type, id, delta, citations, providerMetadata }: JsonObject, pieces: StreamPiece[]): void {
    if (type === 'text-start') this.#offsets.set(id, this.#length);
    if (type === 'text-delta') {
      const start = this.#length;
      if (isText(delta)) {
        this.#hasContent = true;
        this.#length += delta.length;
        pieces.push(escapeText(delta));
      }
      this.#signature(providerMetadata, textId(start, this.#length), pieces);
    }
    if (type === 'text-end') this.#delta(citationsDelta(citations, this.#offsets.get(id) ?? 0), pieces);
  }

  #file(part: JsonObject, pieces: StreamPiece[]): void {
    const delta = fileDelta(part);
    this.#delta(delta, pieces);
    if (delta?.images === undefined) return;
    this.#signature(part['providerMetadata'], imageId(this.#images), pieces);
    this.#images += 1;
  }

  /** Google signs texts, images and tool calls; others sign reasoning. */
  #signature(metadata: unknown, id: string, pieces: StreamPiece[]): void {
    const signature = readThoughtSignature(metadata);
    if (signature !== undefined) this.#delta(this.#reasoning.elsewhere(signature, id), pieces);
  }

  #toolCall(part: JsonObject, pieces: StreamPiece[]): void {
    const { toolCallId: id, providerExecuted, providerMetadata } = part;
    if (providerExecuted !== true && isText(id))
      this.#signature(providerMetadata, this.#context.originalId(id), pieces);
    this.#calls(this.#tools.call(part), pieces);
  }

  #calls(calls: readonly ToolCallDelta[] | undefined, pieces: StreamPiece[]): void {
    if (calls === undefined) {
      const message = 'The provider sent an impossible number of tool calls';
      pieces.push({ type: 'failure', failure: failure('bad_response', message) });
    } else if (calls.length > 0) {
      this.#hasToolCalls = true;
      this.#delta({ tool_calls: calls }, pieces);
    }
  }

  #delta(delta: Delta | undefined, pieces: StreamPiece[]): void {
    if (delta === undefined) return;
    this.#hasContent = true;
    pieces.push({ type: 'delta', index: 0, delta });
  }

  #finish({ finishReason, usage, providerMetadata }: JsonObject, pieces: StreamPiece[]): void {
    this.#calls(this.#tools.finish(), pieces);
    const { family, streamed } = this.#context;
    const counted = decodeUsage(usage, family, providerMetadata);
    if (counted !== undefined) pieces.push({ type: 'usage', usage: counted });
    const serviceTier = tierOf(providerMetadata);
    if (serviceTier !== undefined) pieces.push({ type: 'facts', serviceTier });
    const end = readFinishReason(finishReason, {
      hasContent: this.#hasContent,
      hasToolCalls: this.#hasToolCalls,
      streamed,
    });
    if (end.type === 'broken') {
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider broke off its answer') });
      return;
    }
    this.#finished = true;
    pieces.push({ type: 'finish', index: 0, reason: end.reason, native: end.native });
  }

  /** The finish that follows an error says nothing new; whoever reads stops here. */
  #fail(error: unknown, pieces: StreamPiece[]): void {
    pieces.push({ type: 'failure', failure: failureOfPart(error, this.#context, this.#context.signal) });
  }
}

/** The service tier that served, where a provider tells it. */
function tierOf(metadata: unknown): string | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const tiers = Object.values(metadata).map((members) => (isJsonObject(members) ? members['serviceTier'] : undefined));
  const tier = tiers.find(isText);
  return tier === 'standard' ? 'default' : tier;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
