import { describe, expect, it } from 'vitest';
import type { EndpointDeclaration } from '../../../src/catalog/endpoint.ts';
import type { SUPPORTED_PARAMETERS } from '../../../src/catalog/model.ts';
import { type Capability, parameterCapability } from '../../../src/core/selection/filters.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { DEFAULT_SELECTION_POLICY } from '../../../src/core/selection/world.ts';
import { MODEL, serving } from '../../support/requests.ts';

const STRICT = {
  policy: { ...DEFAULT_SELECTION_POLICY, unknownCapability: 'exclude', toolSupport: 'exclude' },
} as const;

const TOOLS: Partial<ChatRequest> = { tools: [{ type: 'function', function: { name: 'look_up' } }] };
const IMAGE: Partial<ChatRequest> = {
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }],
};
const SEED: Partial<ChatRequest> = { seed: 1, provider: { require_parameters: true } };

/** One endpoint that can do it, one that cannot, and one of which nobody knows. */
const cases: readonly (readonly [string, Partial<ChatRequest>, EndpointDeclaration, EndpointDeclaration, string])[] = [
  ['tools', TOOLS, { abilities: { tools: true } }, { abilities: { tools: false } }, 'tools'],
  [
    'a choice of tools',
    { ...TOOLS, tool_choice: 'required' },
    { abilities: { tools: true }, toolChoices: ['auto', 'required'] },
    { abilities: { tools: true }, toolChoices: ['auto'] },
    'tool_choice',
  ],
  ['an image', IMAGE, { inputModalities: ['text', 'image'] }, { inputModalities: ['text'] }, 'input_modality'],
  [
    'sound as an answer',
    { modalities: ['text', 'audio'] },
    { outputModalities: ['text', 'audio'] },
    { outputModalities: ['text'] },
    'output_modality',
  ],
  ['a required parameter', SEED, { abilities: { seed: true } }, { abilities: { seed: false } }, 'require_parameters'],
];

describe.each(cases)('a request with %s', (_name, body, can, cannot, reason) => {
  const unknown = reason === 'tool_choice' ? { abilities: { tools: true } } : {};
  const scene = serving({ can, cannot, unknown });

  it('never reaches an endpoint that cannot do it', () => {
    const { rejected } = scene.plan(body);
    expect(rejected).toMatchObject([{ endpoint: { tag: 'cannot' }, reason }]);
    expect(rejected[0]?.undeclared).toBeUndefined();
  });

  it('reaches one of which nobody knows, unless the policy is strict; and then it is told that nobody knows', () => {
    expect([...scene.order(body)].sort()).toEqual(['can', 'unknown']);
    const { steps, rejected } = scene.plan(body, STRICT);
    expect(steps.map(({ endpoint }) => endpoint.tag)).toEqual(['can']);
    expect(rejected.find(({ endpoint }) => endpoint.tag === 'unknown')).toMatchObject({ reason, undeclared: true });
  });
});

describe('the automatic choice of tools', () => {
  it('is known wherever tools are', () => {
    const scene = serving({ plain: { abilities: { tools: true } } });
    expect(scene.order({ ...TOOLS, tool_choice: 'auto' }, STRICT)).toEqual(['plain']);
  });
});

describe('what an endpoint can do', () => {
  function capability(declaration: EndpointDeclaration, name: (typeof SUPPORTED_PARAMETERS)[number]): Capability {
    const [endpoint] = serving({ one: declaration }).catalog.endpoints(MODEL);
    if (endpoint === undefined) throw new Error('was declared');
    return parameterCapability(endpoint, name);
  }

  it.each<readonly [EndpointDeclaration, (typeof SUPPORTED_PARAMETERS)[number], Capability]>([
    [{}, 'seed', 'unknown'],
    [{ parameters: ['seed'] }, 'seed', 'yes'],
    [{ parameters: ['seed'] }, 'stop', 'no'],
    [{ abilities: { seed: true } }, 'seed', 'yes'],
    [{ abilities: { seed: false } }, 'seed', 'no'],
    [{ abilities: { seed: false } }, 'stop', 'unknown'],
    [{ parameters: ['seed'], abilities: { seed: false, stop: true } }, 'seed', 'no'],
    [{ parameters: ['seed'], abilities: { seed: false, stop: true } }, 'stop', 'yes'],
    [{ parameters: ['seed'], abilities: { stop: true } }, 'top_p', 'no'],
    [{ parameters: ['max_tokens'] }, 'max_completion_tokens', 'yes'],
    [{ abilities: { max_tokens: true } }, 'max_completion_tokens', 'yes'],
    [{ abilities: { reasoning: true } }, 'reasoning_effort', 'yes'],
    [{ abilities: { reasoning: false } }, 'reasoning_effort', 'unknown'],
    [{ abilities: { reasoning: false, reasoning_effort: false } }, 'reasoning', 'no'],
  ])('is declared by %j for %s: %s', (declaration, name, expected) => {
    expect(capability(declaration, name)).toBe(expected);
  });
});
