/** Checks for providers: good answers. */
import {
  type ObservedCall,
  PROMPT,
  type ProviderCheck,
  type ProviderHarness,
  type ScriptedAnswer,
  ask,
  providerCheck,
  expectHolds,
  expectSame,
} from './harness.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

const FORMS = ['whole', 'stream'] as const;
type Form = (typeof FORMS)[number];

/** Text with everything that encodings make difficult. */
const TEXT: ScriptedAnswer = { text: ['Grüße', ' 線路', ' 🚦👩‍🚒', ' "a\\b"', '\n\t{}', ' \u2028 ', '</script>'] };
const ADD_TOOL = {
  tools: [
    { type: 'function', function: { name: 'add', parameters: { type: 'object' } } },
    { type: 'function', function: { name: 'ring', parameters: { type: 'object' } } },
  ],
} as const;

/** Has an answer given in a form and requires it in the same form. */
async function answered(harness: ProviderHarness, answer: ScriptedAnswer, form: Form): Promise<ObservedCall> {
  harness.play({ type: 'answer', form, answer });
  const outcome = await ask(harness, { stream: form === 'stream', body: answer.toolCalls && ADD_TOOL });
  expectSame(outcome.failure, undefined, `the failure of a good answer (${form})`);
  return outcome;
}

/** A check of one answer in both forms. */
function both(name: string, needs: ProviderCheck['needs'], run: (ask: Ask) => Promise<void>): ProviderCheck {
  return providerCheck(name, needs, async (harness) => {
    for (const form of FORMS) await run((answer) => answered(harness, answer, form));
  });
}

type Ask = (answer: ScriptedAnswer) => Promise<ObservedCall>;

/** Checks of answers that are as they should be. */
export const answerChecks: readonly ProviderCheck[] = [
  both('gives text as it was said, non-streaming and streaming', [], async (give) => {
    expectSame((await give(TEXT)).text, TEXT.text?.join(''), 'the text');
  }),

  providerCheck('gives each piece of a stream as it comes', [], async (harness) => {
    const { pieces } = await answered(harness, TEXT, 'stream');
    const texts = pieces.filter((piece) => typeof piece === 'string' || piece.type === 'delta');
    expectHolds(texts.length >= 3, 'a streamed text comes in more than one piece');
  }),

  both('ends a stream with its finish, and says nothing after its end', [], async (give) => {
    const { pieces, finishes } = await give(TEXT);
    expectSame(finishes.length, 1, 'the number of finishes');
    const end = pieces.findIndex((piece) => typeof piece !== 'string' && piece.type === 'end');
    expectHolds(end < 0 || end === pieces.length - 1, 'the end mark comes last');
    const finish = pieces.findIndex((piece) => typeof piece !== 'string' && piece.type === 'finish');
    const last = pieces.findLastIndex(isContent);
    expectHolds(last < finish, 'all content comes before the finish');
  }),

  both('says why an answer ended', [], async (give) => {
    for (const finish of ['stop', 'length', 'content_filter'] as const) {
      const [piece] = (await give({ ...TEXT, finish })).finishes;
      expectSame(piece?.reason, finish, 'the reason of the finish');
    }
  }),

  both('keeps reasoning apart from text', ['reasoning'], async (give) => {
    const outcome = await give({ reasoning: ['First', ' the', ' points.'], text: ['Then', ' go.'] });
    expectSame([outcome.reasoning, outcome.text], ['First the points.', 'Then go.'], 'reasoning and text');
  }),

  both('gives a tool call with its id, its name and its arguments', ['tools'], async (give) => {
    const outcome = await give({
      toolCalls: [{ id: 'call00001', name: 'add', arguments: ['{"a"', ':1,"b":"{', '}🚦"}'] }],
    });
    expectSame(parsed(outcome), [{ id: 'call00001', name: 'add', arguments: { a: 1, b: '{}🚦' } }], 'the tool calls');
    expectSame(outcome.finishes[0]?.reason, 'tool_calls', 'the reason of the finish');
    expectWellFormed(outcome);
  }),

  both('gives parallel tool calls one by one, behind the text', ['tools'], async (give) => {
    const outcome = await give({
      text: ['Adding.'],
      toolCalls: [
        { id: 'call00001', name: 'add', arguments: ['{"a":', '1}'] },
        { id: 'call00002', name: 'add', arguments: ['{"a":', '2}'] },
        { id: 'call00003', name: 'ring', arguments: ['{"b":3}'] },
      ],
    });
    expectSame(outcome.text, 'Adding.', 'the text');
    expectSame(
      parsed(outcome),
      [
        { id: 'call00001', name: 'add', arguments: { a: 1 } },
        { id: 'call00002', name: 'add', arguments: { a: 2 } },
        { id: 'call00003', name: 'ring', arguments: { b: 3 } },
      ],
      'the tool calls',
    );
    expectWellFormed(outcome);
  }),

  both('gives a tool call without arguments an empty object', ['tools'], async (give) => {
    const outcome = await give({ toolCalls: [{ id: 'call00001', name: 'ring', arguments: [] }] });
    expectSame(parsed(outcome), [{ id: 'call00001', name: 'ring', arguments: {} }], 'the tool calls');
  }),

  both('reports the tokens that were counted', ['usage'], async (give) => {
    const { usage } = await give({ ...TEXT, usage: { promptTokens: 20, completionTokens: 7, cachedTokens: 12 } });
    expectSame(
      [
        usage?.prompt_tokens,
        usage?.completion_tokens,
        usage?.total_tokens,
        usage?.prompt_tokens_details?.cached_tokens,
      ],
      [20, 7, 27, 12],
      'prompt, completion, total and cached tokens',
    );
  }),

  both('makes up no tokens that nobody counted', [], async (give) => {
    expectSame((await give(TEXT)).usage, undefined, 'the usage of an answer without');
  }),

  providerCheck('takes a non-streaming response to a request for a stream', ['bytes'], async (harness) => {
    harness.play({ type: 'answer', form: 'whole', answer: TEXT });
    const outcome = await ask(harness, { stream: true });
    expectSame([outcome.failure, outcome.text], [undefined, TEXT.text?.join('')], 'failure and text');
  }),

  providerCheck('means the same wherever the bytes of a stream are cut', ['bytes'], async (harness) => {
    const answer: ScriptedAnswer = { text: ['Grüße', ' 線', ' 🚦'], usage: { promptTokens: 20, completionTokens: 7 } };
    const whole = await answered(harness, answer, 'stream');
    const length = harness.sentBytes;
    expectHolds(length > 0, 'the upstream counts what it sends');
    for (let cutAt = 0; cutAt <= length; cutAt += 1) {
      harness.play({ type: 'answer', form: 'stream', answer, cutAt });
      const { pieces } = await ask(harness, { stream: true });
      expectSame(pieces, whole.pieces, `a stream that is cut at byte ${cutAt}`);
    }
  }),

  providerCheck('sends the prompt once, as it is', ['bytes'], async (harness) => {
    await answered(harness, TEXT, 'stream');
    expectSame(harness.calls.length, 1, 'the number of calls');
    expectSame((harness.calls[0] ?? '').split(PROMPT).length, 2, 'the parts around the prompt');
  }),
];

function isContent(piece: StreamPiece): boolean {
  return typeof piece === 'string' || piece.type === 'delta';
}

function parsed({ toolCalls }: ObservedCall): unknown {
  return toolCalls.map((call) => ({ ...call, arguments: JSON.parse(call.arguments) as unknown }));
}

/** Ids and names come once, with the first fragment of an index; indexes count from 0. */
function expectWellFormed({ pieces }: ObservedCall): void {
  const seen = new Set<number>();
  for (const piece of pieces) {
    for (const call of typeof piece === 'string' || piece.type !== 'delta' ? [] : (piece.delta.tool_calls ?? [])) {
      const first = !seen.has(call.index);
      if (first) expectSame(call.index, seen.size, 'the index of a new tool call');
      expectSame(
        [call.id !== undefined, call.function?.name !== undefined],
        [first, first],
        'whether id and name are there',
      );
      seen.add(call.index);
    }
  }
}
