import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';

/** Thrown while a request is written for a model that has no way to say a part of it. Another endpoint may have one. */
export class Inexpressible extends Error {
  readonly failure: AttemptFailure;

  /** @param message - A sentence for the caller: where, what, and what would do. */
  constructor(message: string) {
    super(message);
    this.failure = failure('unsupported_parameter', message);
  }
}
