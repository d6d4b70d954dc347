import { type AttemptFailure, failure } from '../core/fallback/failure.ts';

/** Thrown by a codec for a request that its wire cannot say. Nothing is sent then, and another provider may be asked. */
export class EncodeError extends Error {
  readonly failure: AttemptFailure;

  /** @param problem - Where and what, as a sentence for the caller: `messages[2].content[0] is audio, which …`. */
  constructor(problem: string) {
    super(problem);
    this.name = 'EncodeError';
    this.failure = failure('unsupported_parameter', problem);
  }
}
