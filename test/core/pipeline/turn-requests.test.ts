import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../src/catalog/endpoint.ts';
import { replayServerToolCalls } from '../../../src/core/pipeline/replay.ts';
import { nextTurn, TurnJoint, withToolsOff } from '../../../src/core/pipeline/turn-requests.ts';
import { serving } from '../../support/requests.ts';

const scene = serving({ up: {} });
const request = scene.request({ tools: [{ type: 'function', function: { name: 'echo' } }] });
const extra = { google: { thought_signature: 'signed' } };
const call = {
  id: 'c1',
  index: 0,
  type: 'function',
  function: { name: 'echo', arguments: '{}' },
  extra_content: extra,
} as const;
const answered = [{ call, result: 'r' }];
const message = {
  role: 'assistant',
  content: '',
  refusal: null,
  reasoning: 'Hm',
  reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's' }],
} as const;

describe('the turn after calls of server tools', () => {
  it('gets what the model said as it was: reasoning, signatures and what belongs to each call', () => {
    expect(nextTurn(request, message, answered, new Set(['echo'])).messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        reasoning: 'Hm',
        reasoning_details: message.reasoning_details,
        tool_calls: [{ id: 'c1', type: 'function', function: call.function, extra_content: extra }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'r' },
    ]);
  });

  it('gets the same when the caller brings it back with a later request', () => {
    const details = new TurnJoint().calls(answered).delta.reasoning_details;
    const replayed = replayServerToolCalls(
      [{ role: 'assistant', content: 'Done', reasoning_details: details }],
      new Set(['echo']),
    );
    expect(replayed[0]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: call.function, extra_content: extra }],
    });
  });

  it('is forced no more to call what it has called, but still what the caller has to run', () => {
    const choiceAfter = (toolChoice: typeof request.toolChoice): unknown =>
      nextTurn({ ...request, toolChoice }, message, answered, new Set(['echo'])).toolChoice;
    const own = { type: 'function', function: { name: 'mine' } } as const;
    const ours = { type: 'function', function: { name: 'echo' } } as const;
    expect(
      [undefined, 'auto', 'required', ours, own].map((one) => choiceAfter(one as typeof request.toolChoice)),
    ).toEqual([undefined, 'auto', 'auto', 'auto', own]);
  });
});

describe('the text of several turns', () => {
  it('has a blank line between them, and none where the first is taken back', () => {
    const said = (isTakenBack: boolean): readonly unknown[] => {
      const joint = new TurnJoint();
      joint.turn();
      const first = [joint.join('One moment.'), joint.join({ type: 'delta', index: 0, delta: { content: 'So.' } })];
      const shown = isTakenBack ? joint.withoutText(first) : first;
      joint.turn();
      return [...shown, joint.join('{}')];
    };
    const delta = (content: string) => ({ type: 'delta', index: 0, delta: { content } });
    expect(said(false)).toEqual(['One moment.', delta('So.'), String.raw`\n\n{}`]);
    expect(said(true)).toEqual([delta(''), '{}']);
  });
});

describe('the last turn', () => {
  const endpoint = request.targets[0]?.endpoints[0] as Endpoint;

  it.each([
    [{}, 'none', 1],
    [{ parameters: new Set(['tools', 'tool_choice']), toolChoices: new Set(['none', 'auto']) }, 'none', 1],
    [{ parameters: new Set(['tools']) }, undefined, 0],
    [{ toolChoices: new Set(['auto', 'required']) }, undefined, 0],
  ])('has its tools off as the endpoint understands that: %j', (declared, choice, tools) => {
    const told = withToolsOff(request, { ...endpoint, ...declared } as Endpoint);
    expect([told.toolChoice, told.tools.length]).toEqual([choice, tools]);
  });
});
