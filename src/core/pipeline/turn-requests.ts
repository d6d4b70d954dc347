/** Makes the requests of the turns in a loop of server tools, and one stream of their answers. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ResultMessage, ResultToolCall } from '../../protocol/chat-result.ts';
import type { Message } from '../../protocol/message.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { unescapeText } from '../stream/pieces.ts';
import type { DeltaPiece, StreamPiece } from '../../contracts/stream-piece.ts';

/** A call of a server tool and the text that the model gets for it. */
export interface AnsweredCall {
  readonly call: ResultToolCall;
  readonly result: string;
}

/**
 * The request for the turn after some calls: what the model said, and the results. What it was forced to call, it has
 * called; forcing it again would never end.
 */
export function nextTurn(
  request: NormalizedRequest,
  message: ResultMessage,
  answered: readonly AnsweredCall[],
  serverNames: ReadonlySet<string>,
): NormalizedRequest {
  const { content, reasoning, reasoning_details: details } = message;
  const said: Message = {
    role: 'assistant',
    content: content === '' ? null : content,
    ...(reasoning === null ? {} : { reasoning }),
    ...(details === undefined ? {} : { reasoning_details: details }),
    tool_calls: answered.map(({ call: { id, function: called, extra_content: extra } }) => ({
      id,
      type: 'function',
      function: called,
      ...(extra === undefined ? {} : { extra_content: extra }),
    })),
  };
  const results = answered.map(({ call, result }): Message => ({
    role: 'tool',
    tool_call_id: call.id,
    content: result,
  }));
  return {
    ...request,
    messages: [...request.messages, said, ...results],
    toolChoice: isSpent(request.toolChoice, serverNames) ? 'auto' : request.toolChoice,
  };
}

function isSpent(choice: NormalizedRequest['toolChoice'], serverNames: ReadonlySet<string>): boolean {
  if (typeof choice !== 'object') return choice === 'required';
  return 'function' in choice && serverNames.has(choice.function.name);
}

/** The request for the last turn, in which no tool may be called any more, as an endpoint understands that. */
export function withToolsOff(request: NormalizedRequest, { parameters, toolChoices }: Endpoint): NormalizedRequest {
  const canBeStated = parameters?.has('tool_choice') !== false && toolChoices?.has('none') !== false;
  // Tools stay where they can: a conversation with calls in it is refused by some providers without them.
  return canBeStated ? { ...request, toolChoice: 'none' } : { ...request, tools: [], toolChoice: undefined };
}

/**
 * Makes one stream of the turns of a loop. Texts of two turns get a blank line between them, and reasoning details are
 * numbered on: clients join what has the same number.
 */
export class TurnJoint {
  #lastText = '';
  #isFirstText = false;
  #offset = 0;
  #nextIndex = 0;

  /** A new turn begins. */
  turn(): void {
    this.#isFirstText = this.#lastText !== '';
    this.#offset = this.#nextIndex;
  }

  /** A piece of the turn as it appears in the whole stream. */
  join(piece: StreamPiece): StreamPiece {
    if (typeof piece === 'string')
      return piece === '' ? piece : `${this.#gapBefore(unescapeText(piece), '\\n\\n')}${piece}`;
    if (piece.type !== 'delta' || piece.index !== 0) return piece;
    const { content, reasoning_details: details } = piece.delta;
    if (!content && details === undefined) return piece;
    return {
      ...piece,
      delta: {
        ...piece.delta,
        ...(content ? { content: `${this.#gapBefore(content, '\n\n')}${content}` } : {}),
        ...(details === undefined ? {} : { reasoning_details: details.map((detail) => this.#numbered(detail)) }),
      },
    };
  }

  /** The pieces of the turn without its text, where another turn is to give all of the text. */
  withoutText(pieces: readonly StreamPiece[]): StreamPiece[] {
    this.#lastText = '';
    return pieces.flatMap((piece) => {
      if (typeof piece === 'string') return [];
      if (piece.type !== 'delta' || !piece.delta.content) return [piece];
      return [{ ...piece, delta: { ...piece.delta, content: '' } }];
    });
  }

  /** The calls of a turn, so that the caller can send them back with the next request (gaps 5.11, 6.4). */
  calls(answered: readonly AnsweredCall[]): DeltaPiece {
    const details = answered.map(({ call, result }): ReasoningDetail => {
      this.#nextIndex += 1;
      return {
        type: 'reasoning.server_tool_call',
        tool_name: call.function.name,
        arguments: call.function.arguments,
        result,
        tool_call_id: call.id,
        index: this.#nextIndex - 1,
        ...(call.extra_content === undefined ? {} : { extra_content: call.extra_content }),
      };
    });
    return { type: 'delta', index: 0, delta: { reasoning_details: details } };
  }

  #gapBefore(text: string, gap: string): string {
    const needed = this.#isFirstText && !/\s$/.test(this.#lastText) && !/^\s/.test(text);
    this.#isFirstText = false;
    this.#lastText = text;
    return needed ? gap : '';
  }

  #numbered(detail: ReasoningDetail): ReasoningDetail {
    if (detail.index === undefined) return detail;
    const index = detail.index + this.#offset;
    this.#nextIndex = Math.max(this.#nextIndex, index + 1);
    return { ...detail, index };
  }
}
