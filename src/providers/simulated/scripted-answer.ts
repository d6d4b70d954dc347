import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonObject } from '../../protocol/json.ts';

/** A function call in a scripted answer. */
export interface SimulatedToolCall {
  readonly name: string;
  /** As an object, or as the very text that the model is to write, which need not be JSON. Default `{}`. */
  readonly arguments?: JsonObject | string | undefined;
  /** Default: made from the request, the same for the same request. */
  readonly id?: string | undefined;
}

/** An answer that a test has written itself. */
export interface SimulatedAnswer {
  readonly text?: string | undefined;
  readonly toolCalls?: readonly SimulatedToolCall[] | undefined;
  /** What was thought before; shown unless the request excludes it. */
  readonly reasoning?: string | undefined;
}

/** Writes the answer to a request, or leaves it to the simulated provider by giving undefined. */
export type AnswerScript = (request: NormalizedRequest) => string | SimulatedAnswer | undefined;
