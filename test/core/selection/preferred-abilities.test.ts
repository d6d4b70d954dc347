import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { DEFAULT_SELECTION_POLICY } from '../../../src/core/selection/world.ts';
import { reasonsOf, sceneOf, serving } from '../../support/requests.ts';

const scene = serving({
  plain: { parameters: ['temperature'] },
  json: { parameters: ['response_format'] },
  schema: { parameters: ['response_format', 'structured_outputs'] },
  wordy: { parameters: ['verbosity'] },
});

const SCHEMA: Partial<ChatRequest> = { response_format: { type: 'json_schema', json_schema: { name: 'a' } } };

describe('a preferred ability', () => {
  const cases: readonly (readonly [string, Partial<ChatRequest>, readonly string[]])[] = [
    ['JSON output', { response_format: { type: 'json_object' } }, ['json', 'schema']],
    ['a JSON schema', SCHEMA, ['schema']],
    ['verbosity', { verbosity: 'low' }, ['wordy']],
    ['plain text, which everybody has', { response_format: { type: 'text' } }, ['plain', 'json', 'schema', 'wordy']],
    ['nothing', {}, ['plain', 'json', 'schema', 'wordy']],
  ];
  it.each(cases)('keeps only those who have it: %s', (_name, body, expected) => {
    expect(scene.order(body)).toEqual(expected);
  });

  it('is given up when nobody has it', () => {
    const poor = serving({ plain: { parameters: ['temperature'] }, other: { parameters: ['top_p'] } });
    expect(poor.order(SCHEMA)).toEqual(['plain', 'other']);
  });

  it('is given up one by one: what some have is still kept', () => {
    expect(scene.order({ ...SCHEMA, verbosity: 'low' })).toEqual(['schema']);
  });

  it('is looked for only among those who qualify', () => {
    expect(scene.order({ ...SCHEMA, provider: { ignore: ['schema'] } })).toEqual(['plain', 'json', 'wordy']);
  });

  it('never takes a model out of the list of models', () => {
    const two = sceneOf({
      providers: {
        alpha: { 'acme/one': { parameters: ['temperature'] }, 'acme/two': { parameters: ['structured_outputs'] } },
      },
    });
    const { steps } = two.plan({ model: 'acme/one', models: ['acme/two'], ...SCHEMA });
    expect(steps.map(({ endpoint }) => endpoint.model)).toEqual(['acme/one', 'acme/two']);
  });

  it('is told as the reason for whoever lacks it', () => {
    expect(reasonsOf(scene.plan(SCHEMA))).toEqual({
      plain: 'response_format',
      json: 'response_format',
      wordy: 'response_format',
    });
  });

  it('is believed of an endpoint that declares nothing, unless the policy says otherwise', () => {
    const quiet = serving({ silent: {}, schema: { parameters: ['structured_outputs'] } });
    expect(quiet.order(SCHEMA)).toEqual(['silent', 'schema']);
    const policy = { ...DEFAULT_SELECTION_POLICY, unknownCapability: 'exclude', toolSupport: 'exclude' } as const;
    expect(quiet.order(SCHEMA, { policy })).toEqual(['schema']);
  });
});
