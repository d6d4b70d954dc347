import { type Router, createRouter, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { toolResults } from '../support/fusion.ts';
import { bothWays, hello } from '../support/plugins.ts';
import { call, turns } from '../support/tools.ts';

const TYPE = 'router:experimental__search_models';

function bench(...calls: readonly object[]): Router {
  const model = turns(
    { toolCalls: calls.map((args) => call('experimental__search_models', JSON.stringify(args))) },
    'Found.',
  );
  const environment = fakeEnvironment();
  return createRouter({
    environment,
    models: {
      'acme/eye': { name: 'Acme Eye', description: `Sees pictures. ${'x'.repeat(500)}`, created: 200 },
      'acme/pen': { name: 'Acme Pen', description: 'Writes long stories about pictures', created: 300 },
    },
    providers: [
      simulated({
        slug: 'acme',
        name: 'Acme',
        environment,
        firstTokenMs: 0,
        tokensPerSecond: 0,
        answer: model.script,
        models: {
          'acme/one': { price: { prompt: 1, completion: 2 } },
          'acme/eye': {
            price: { prompt: 3, completion: 6 },
            contextLength: 50_000,
            inputModalities: ['text', 'image'],
            outputModalities: ['text'],
            parameters: ['tools', 'temperature'],
          },
          'acme/pen': { price: { prompt: 0.5, completion: 1 }, contextLength: 1_000_000 },
          'acme/later': { variant: 'batch' },
        },
      }),
    ],
  });
}

async function search(args: object, options?: Readonly<Record<string, unknown>>): Promise<unknown> {
  const tools = [{ type: TYPE, ...(options === undefined ? {} : { parameters: options }) }] as const;
  const { choices } = await bench(args).chat(hello({ tools }));
  return toolResults(choices[0]?.message.reasoning_details ?? [])[0];
}

async function ids(args: object, options?: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { models } = (await search(args, options)) as { models: readonly { id: string }[] };
  return models.map(({ id }) => id);
}

describe('router:experimental__search_models', () => {
  it('tells prices, context and abilities of the models that it finds', async () => {
    const tools = [{ type: TYPE }] as const;
    for await (const [way, said] of bothWays(bench({ query: 'eye' }), hello({ tools }))) {
      expect([way, said.text]).toEqual([way, 'Found.']);
      expect(toolResults(said.details)).toEqual([
        {
          status: 'completed',
          total: 1,
          models: [
            {
              id: 'acme/eye',
              name: 'Acme Eye',
              description: `Sees pictures. ${'x'.repeat(285)}`,
              created: 200,
              context_length: 50_000,
              usd_per_million_tokens: { prompt: 3, completion: 6 },
              input_modalities: ['text', 'image'],
              output_modalities: ['text'],
              abilities: ['tools'],
              providers: ['Acme'],
            },
          ],
        },
      ]);
    }
  });

  it.each<readonly [object, readonly string[]]>([
    [{}, ['acme/one', 'acme/eye', 'acme/pen']],
    [{ query: 'pictures' }, ['acme/eye', 'acme/pen']],
    [{ query: 'PEN pictures' }, ['acme/pen']],
    [{ query: 'nothing' }, []],
    [{ query: '../(.*' }, ['acme/one', 'acme/eye', 'acme/pen']],
    [{ max_prompt_price: 1 }, ['acme/one', 'acme/pen']],
    [{ max_completion_price: 1 }, ['acme/pen']],
    [{ min_context_length: 50_000 }, ['acme/eye', 'acme/pen']],
    [{ input_modalities: ['image'] }, ['acme/eye']],
    [{ output_modalities: ['image'] }, []],
    [{ supported_parameters: ['tools'] }, ['acme/eye']],
    [{ sort: 'price' }, ['acme/pen', 'acme/one', 'acme/eye']],
    [{ sort: 'context' }, ['acme/pen', 'acme/eye', 'acme/one']],
    [{ sort: 'newest' }, ['acme/pen', 'acme/eye', 'acme/one']],
  ])('finds %j', async (args, expected) => {
    expect(await ids(args)).toEqual(expected);
  });

  it('gives as many as the request says', async () => {
    expect(await ids({}, { max_results: 2 })).toEqual(['acme/one', 'acme/eye']);
    expect(await search({}, { max_results: 1 })).toMatchObject({ total: 3 });
  });

  it.each<readonly [object, string]>([
    [{ query: 7 }, 'query must be a string'],
    [{ sort: 'best' }, 'sort must be one of price, context, newest'],
    [{ max_prompt_price: 'cheap' }, 'max_prompt_price must be a number'],
    [{ input_modalities: 'image' }, 'input_modalities must be a list of texts'],
  ])('tells the model what is wrong with %j', async (args, error) => {
    expect(await search(args)).toEqual({ status: 'error', error });
  });

  it.each([0, 21, 1.5, '5'])('refuses max_results %j', async (limit) => {
    const tools = [{ type: TYPE, parameters: { max_results: limit } }] as const;
    await expect(bench({}).chat(hello({ tools }))).rejects.toMatchObject({
      status: 400,
      metadata: { path: 'tools[0].parameters.max_results' },
    });
  });
});
