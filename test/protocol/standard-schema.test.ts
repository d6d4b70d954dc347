import {
  createRouter,
  definePlugin,
  defineServerTool,
  type Router,
  simulated,
  type StandardSchema,
  textAnswer,
} from 'signalbox';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkBySchema } from '../../src/protocol/options.ts';
import { isStandardSchema } from '../../src/protocol/standard-schema.ts';

/** A schema by hand, as a small library would write it: a member `depth` from 1 to 5. */
const byHand: StandardSchema<{ readonly depth: number }> = {
  '~standard': {
    version: 1,
    vendor: 'by-hand',
    validate(value) {
      const { depth = 1 } = value as { readonly depth?: unknown };
      if (typeof depth === 'number' && depth >= 1 && depth <= 5) return { value: { depth } };
      return { issues: [{ message: 'depth is from 1 to 5', path: [{ key: 'depth' }] }] };
    },
  },
};
const byZod = z.strictObject({
  depth: z.number().max(5).default(1),
  sources: z.array(z.object({ name: z.string() })).optional(),
});

/** A schema that is a function, as those of arktype are: called, it gives the value or an object with what is wrong. */
const byFunction: StandardSchema<{ readonly depth: number }> = Object.assign((value: unknown) => value, {
  '~standard': {
    version: 1 as const,
    vendor: 'by-function',
    validate: (value: unknown) => byHand['~standard'].validate(value),
  },
});

/** A schema whose parts are instances of a class and whose path are keys alone, as those of valibot and zod give them. */
class Depth implements StandardSchema<{ readonly depth: number }> {
  readonly #most = 5;

  get '~standard'() {
    return {
      version: 1 as const,
      vendor: 'by-class',
      validate: (value: unknown) => {
        const { depth = 1 } = value as { readonly depth?: unknown };
        return typeof depth === 'number' && depth <= this.#most
          ? { value: { depth } }
          : { issues: [{ message: `at most ${this.#most}`, path: ['depth'] }] };
      },
    };
  }
}

const routers: Router[] = [];
afterEach(() => Promise.all(routers.splice(0).map((router) => router.close())));

function closedAtEnd(router: Router): Router {
  routers.push(router);
  return router;
}

const request = { model: 'simulated/small', messages: [{ role: 'user' as const, content: 'Hello' }] };

/** A router with a plugin that answers with its own options. */
function routerWith(options: StandardSchema<object>) {
  const echoing = definePlugin({
    id: 'echoing',
    whenItThrows: 'fail',
    options,
    onRequest: (_, given) => ({ type: 'answer', answer: textAnswer(JSON.stringify(given)) }),
  });
  return createRouter({ providers: [simulated()], plugins: [echoing] });
}

async function optionsSeen(schema: StandardSchema<object>, given: object): Promise<unknown> {
  const router = closedAtEnd(routerWith(schema));
  const { choices } = await router.chat({ ...request, plugins: [{ id: 'echoing', ...given }] });
  return JSON.parse(choices[0]?.message.content ?? '') as unknown;
}

async function refusalOf(schema: StandardSchema<object>, given: object): Promise<unknown> {
  const router = closedAtEnd(routerWith(schema));
  return router.chat({ ...request, plugins: [{ id: 'echoing', ...given }] }).catch((error: unknown) => error);
}

describe.each([
  ['zod', byZod],
  ['a library of one’s own', byHand],
  ['a library whose schemas are functions', byFunction],
  ['a library whose schemas are instances', new Depth()],
])('options by a schema of %s', (_, schema) => {
  it('are checked and completed by it', async () => {
    expect(await optionsSeen(schema, {})).toEqual({ depth: 1 });
    expect(await optionsSeen(schema, { depth: 3 })).toEqual({ depth: 3 });
  });

  it('that are null are not set', async () => {
    expect(await optionsSeen(schema, { depth: null })).toEqual({ depth: 1 });
  });

  it('that it refuses are a 400 with their path and its words', async () => {
    expect(await refusalOf(schema, { depth: 9 })).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^plugins\[0\]\.depth is not valid: .*5/),
    });
  });
});

describe('a schema of zod', () => {
  it('refuses options that it does not know, and names the place of a fault in a list', async () => {
    expect(await refusalOf(byZod, { deep: 1 })).toMatchObject({
      status: 400,
      message: expect.stringContaining('deep'),
    });
    expect(await refusalOf(byZod, { sources: [{ name: 'a' }, { name: 1 }] })).toMatchObject({
      message: expect.stringContaining('plugins[0].sources[1].name is not valid: '),
    });
  });

  it('gives the options of a server tool their type', async () => {
    const tool = defineServerTool({
      type: 'router:count_down',
      options: z.object({ from: z.number().default(3) }),
      // `from` is a number to the compiler.
      describe: ({ from }) => ({ description: `Counts from ${from.toFixed()}.`, parameters: { type: 'object' } }),
      execute: (_, { from }) => ({ result: from }),
    });
    const router = closedAtEnd(
      createRouter({
        providers: [
          simulated({
            answer: ({ messages }) =>
              messages.at(-1)?.role === 'tool'
                ? `At ${JSON.stringify(messages.at(-1)?.content)}`
                : { toolCalls: [{ name: 'count_down', arguments: {} }] },
          }),
        ],
        plugins: [],
        serverTools: [tool],
      }),
    );
    const ask = (parameters: object) =>
      router.chat({ ...request, tools: [{ type: 'router:count_down', parameters }] } as never);
    expect((await ask({ from: 7 })).choices[0]?.message.content).toBe('At "7"');
    expect((await ask({})).choices[0]?.message.content).toBe('At "3"');
    await expect(ask({ from: 'x' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('tools[0].parameters.from is not valid: '),
    });
  });
});

describe('a configuration', () => {
  const configured =
    (options: unknown, more: object = {}) =>
    () =>
      createRouter({
        providers: [simulated()],
        plugins: [{ id: 'one', whenItThrows: 'fail', options, ...more } as never],
        pluginDefaults: [{ id: 'one', options: { depth: 9 } }],
      });

  it('refuses defaults that the schema refuses', () => {
    expect(configured(byHand)).toThrow('pluginDefaults[0].options.depth is not valid: depth is from 1 to 5');
  });

  it('refuses what is no schema, one beside parseOptions, and one that answers later', () => {
    expect(configured({ depth: 'number' })).toThrow('plugins[0].options must be a Standard Schema');
    expect(configured(byHand, { parseOptions: () => ({ ok: true, options: {} }) })).toThrow(
      'plugins[0].options must not be there beside parseOptions',
    );
    const later = z.object({}).refine(() => Promise.resolve(true));
    expect(configured(later)).toThrow('plugins[0].options must be a schema that validates without a promise');
  });
});

describe('a schema that answers later', () => {
  const later: StandardSchema<{ readonly depth: number }> = {
    '~standard': {
      version: 1,
      vendor: 'later',
      validate: (value) => Promise.resolve(byHand['~standard'].validate(value)),
    },
  };

  it('is refused where the router is made, for plugins and server tools, with what would be right', () => {
    const tool = defineServerTool({
      type: 'router:later',
      options: later,
      describe: () => ({ description: 'Later.', parameters: { type: 'object' } }),
      execute: () => ({ result: 1 }),
    });
    expect(() => routerWith(later)).toThrow(
      'plugins[0].options must be a schema that validates without a promise and does not throw',
    );
    expect(() => createRouter({ providers: [simulated()], plugins: [], serverTools: [tool] })).toThrow(
      'serverTools[0].options must be a schema that validates without a promise and does not throw',
    );
  });

  it('does not pass where it answers later for some values alone', async () => {
    const sometimes: StandardSchema<{ readonly depth: number }> = {
      '~standard': {
        version: 1,
        vendor: 'sometimes',
        validate: (value) => (Object.keys(Object(value)).length > 0 ? later : byHand)['~standard'].validate(value),
      },
    };
    expect(await refusalOf(sometimes, { depth: 3 })).toMatchObject({
      status: 502,
      message: expect.stringContaining('"echoing" failed'),
    });
  });
});

describe('a result', () => {
  it('is a refusal with any list of issues, and cut where the library is talkative', () => {
    const saying = (issues: readonly { readonly message: string }[]): StandardSchema => ({
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) },
    });
    expect(checkBySchema(saying([]), {})).toEqual({
      ok: false,
      path: '',
      problem: 'is not valid: the schema gives no reason',
    });
    const checked = checkBySchema(saying([{ message: 'x'.repeat(10_000) }]), {});
    expect(JSON.stringify(checked).length).toBeLessThan(500);
  });
});

describe('a Standard Schema', () => {
  it('is told by its mark, an object or a function', () => {
    const callable = Object.assign(() => {}, { '~standard': byHand['~standard'] });
    expect([byHand, byZod, callable].map(isStandardSchema)).toEqual([true, true, true]);
    expect(
      [null, undefined, 1, {}, { '~standard': {} }, { '~standard': { version: 2 } }].map(isStandardSchema),
    ).not.toContain(true);
  });
});
