/** Keeps prompts and answers for programs that opted in. */
import type { ContentSink, LedgerContent, RedactContent } from '../../contracts/ledger.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import { type EventHub, warn } from '../events/events.ts';
import { type Answer, changedAnswer, type Execution, recorded } from '../chat/answer.ts';

/** Who keeps prompts and answers, and what may be kept of them. */
export interface ContentOptions {
  readonly sink: ContentSink;
  readonly redact: RedactContent;
}

/** Lets a program that opted in keep the prompt and the answer of an execution, once it was answered. */
export function keepContent(execution: Execution, options: ContentOptions, events: EventHub): Execution {
  const run = execution.run.bind(execution);
  const runAndKeep = async (): Promise<Answer> => keptAnswer(execution, await run(), options, events);
  execution.run = runAndKeep;
  return execution;
}

function keptAnswer(execution: Execution, answer: Answer, options: ContentOptions, events: EventHub): Answer {
  const { id, account, messages, within } = execution.request;
  const mirrorOf = within?.mirror === undefined ? undefined : within.parent;
  const give = (choices: readonly Choice[]): void => {
    const { model } = answer.endpoint;
    void keep(
      { id, account: account.id, model, messages, ...(mirrorOf !== undefined && { mirrorOf }), choices },
      options,
      events,
    );
  };
  const collector = answer.result === undefined ? new ResultCollector() : undefined;
  if (collector === undefined) {
    return changedAnswer(answer, {
      polish: async (result) => {
        const polished = (await answer.polish?.(result)) ?? result;
        give(polished.choices);
        return polished;
      },
    });
  }
  return changedAnswer(answer, {
    call: recorded(answer.call, collector),
    settle: (end) => {
      const settled = answer.settle(end);
      give(collector.result().choices);
      return settled;
    },
  });
}

/** Nobody waits for it, and what goes wrong is told without a word of what was to be kept. */
async function keep(content: LedgerContent, { sink, redact }: ContentOptions, events: EventHub): Promise<void> {
  try {
    const allowed = await redact(content);
    if (allowed !== undefined) await sink(allowed);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.name : typeof thrown;
    warn(events, { code: 'ledger_content', message: `ledger.redact or ledger.content failed (${reason})` });
  }
}
