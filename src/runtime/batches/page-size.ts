/** Decides how many requests or outcomes are read at a time. */
import { echo } from '../../protocol/fault.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';

import type { StoredOutcome } from '../../contracts/batch-store.ts';
import { inspectJson } from '../../protocol/inspect-json.ts';

/** Characters that are read at a time. */
const PAGE_LENGTH = 256 * 1024;
const MOST = 256;

/**
 * How many requests or outcomes are read at a time: few at first, because each may be large, and then as many as make a
 * page of some length, going by those that came.
 */
export class PageSize {
  #limit: number;

  constructor(first: number) {
    this.#limit = first;
  }

  get limit(): number {
    return this.#limit;
  }

  /** A page of so many came, and they were so long together. */
  came(count: number, length: number): void {
    if (count > 0) this.#limit = Math.max(1, Math.min(MOST, Math.floor((PAGE_LENGTH * count) / Math.max(1, length))));
  }
}

/** About how long an outcome is as text. What is nested too deeply to be looked at is taken for a page. */
export function lengthOf({ response }: Pick<StoredOutcome, 'response'>): number {
  const found = inspectJson(response?.body ?? null, { depth: 100, nodes: Infinity });
  return found.ok ? found.characters + found.nodes : PAGE_LENGTH;
}

/** The error for a list that is to go on behind what is not there, and was not there. */
export function unknownAfter(after: string | undefined, what: 'batch' | 'file'): RouterError {
  return errorOf(400, `after must be the id of a ${what} in this list, and ${echo(after ?? '')} names none`);
}
