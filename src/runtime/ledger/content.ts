import type { MaybePromise } from '../../platform/wait.ts';
import type { Execution } from '../chat/execution.ts';
import type { RuntimeServices } from '../chat/services.ts';

/** Lets a program keep prompts and answers that asked for it. What does that is loaded by the first request of such a router. */
export function withContent({ ledger, events }: RuntimeServices, execution: Execution): MaybePromise<Execution> {
  const content = ledger?.content;
  if (content === undefined) return execution;
  return import('./kept-content.ts').then(({ keepContent }) => keepContent(execution, content, events));
}
