import {
  type AttemptEvent,
  type Router,
  RouterError,
  type ServerToolDefinition,
  type StreamPiece,
  createRouter,
  failure,
} from 'signalbox';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type FedCall, GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { bothWays, hello, pluginBench, streamed } from '../support/plugins.ts';
import { call, echoTool, turns } from '../support/tools.ts';

const request = hello({ tools: [{ type: 'router:echo' }], provider: { order: ['one', 'two'] } });

/** The pieces of a turn that calls the tool. */
function calling(...text: readonly string[]): readonly StreamPiece[] {
  const [begin, end] = ['{"text":', '"x"}'];
  return [
    ...text,
    {
      type: 'delta',
      index: 0,
      delta: { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'echo' } }] },
    },
    { type: 'delta', index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: begin } }] } },
    { type: 'delta', index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: end } }] } },
  ];
}
const CALLED: readonly StreamPiece[] = [
  { type: 'finish', index: 0, reason: 'tool_calls', native: 'tool_use' },
  { type: 'usage', usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
  { type: 'end' },
];
const BROKEN: StreamPiece = { type: 'failure', failure: failure('connection', 'broke off') };

interface Stage {
  readonly router: Router;
  readonly environment: FakeEnvironment;
  /** Provider and outcome of every attempt. */
  readonly attempts: string[];
  readonly errors: unknown[];
}

/** Two providers that do, call by call, what is listed for them. */
function stage(
  one: readonly ((fed: FedCall) => void)[],
  two: readonly ((fed: FedCall) => void)[] = [],
  tool: Partial<ServerToolDefinition> = {},
): Stage {
  const environment = fakeEnvironment();
  const acting = (acts: readonly ((fed: FedCall) => void)[]) => {
    let next = 0;
    return (fed: FedCall): void => {
      const act = acts[Math.min(next, acts.length - 1)];
      next += 1;
      if (act === undefined) throw new Error('not expected to be called');
      act(fed);
    };
  };
  const attempts: string[] = [];
  const errors: unknown[] = [];
  const router: Router = createRouter({
    environment,
    fallback: { triesPerEndpoint: 1 },
    providers: [fedProvider({ slug: 'one', script: acting(one) }), fedProvider({ slug: 'two', script: acting(two) })],
    serverTools: [echoTool('router:echo', tool as never)],
    on: {
      attempt: (event: AttemptEvent) => void attempts.push(`${event.provider} ${event.failure?.kind ?? 'ok'}`),
      error: ({ status, committed }) => void errors.push({ status, committed }),
    },
  });
  return { router, environment, attempts, errors };
}

const says =
  (...pieces: readonly StreamPiece[]) =>
  (fed: FedCall): void => {
    fed.push(...pieces);
    fed.end();
  };
const fails = (fed: FedCall): void => fed.fail(failure('server', 'down', { status: 500 }));
const answers = says('Done.', ...GOOD_END);

describe('a provider that fails in a later turn', () => {
  it('is replaced by another one, streamed or whole', async () => {
    for (const stream of [true, false]) {
      const { router, attempts } = stage([says(...calling(), ...CALLED), fails], [answers]);
      const text = stream
        ? (await streamed(router, request)).text
        : (await router.chat(request)).choices[0]?.message.content;
      expect(text).toBe('Done.');
      expect(attempts).toEqual(['one ok', 'one server', 'two ok']);
    }
  });

  it('is preferred again as long as it does not', async () => {
    const { router, attempts } = stage([fails, fails], [says(...calling(), ...CALLED), answers]);
    expect((await streamed(router, request)).text).toBe('Done.');
    expect(attempts).toEqual(['one server', 'two ok', 'two ok']);
  });

  it('before any content went out is an ordinary error with the attempts of all turns', async () => {
    const { router, errors } = stage([says(...calling(), ...CALLED), fails], [fails]);
    const heard = await streamed(router, request, true);
    expect(heard.chunks).toEqual([]);
    expect(heard.error).toMatchObject({
      status: 502,
      routerMetadata: {
        attempts: [{ status: 200 }, { status: 500 }, { status: 500 }],
        pipeline: [{ type: 'server_tools', summary: '1 call' }],
      },
    });
    expect(errors).toEqual([{ status: 502, committed: false }]);
  });

  it('after content went out is an error inside the stream', async () => {
    const { router, errors, environment } = stage([says(...calling('Wait. '), ...CALLED), fails], [fails]);
    const heard = await streamed(router, request);
    expect(heard.text).toBe('Wait. ');
    expect(heard.error).toMatchObject({ status: 502 });
    expect(errors).toEqual([{ status: 502, committed: true }]);
    expect(environment.pendingTimers).toBe(0);
  });

  it('in the middle of what it shows breaks the stream', async () => {
    const feeds: FedCall[] = [];
    const half = (fed: FedCall): void => {
      feeds.push(fed);
      fed.push('Half');
    };
    const { router, attempts } = stage([says(...calling(), ...CALLED), half], [answers]);
    const heard: string[] = [];
    const reading = (async () => {
      for await (const { choices } of router.stream(request)) {
        const content = choices[0]?.delta.content;
        if (content) heard.push(content);
        if (content === 'Half') feeds[0]?.push(BROKEN);
      }
    })();
    await expect(reading).rejects.toMatchObject({ status: 502 });
    expect(heard).toEqual(['Half']);
    expect(attempts).toEqual(['one ok', 'one connection']);
  });

  it('in the middle of a call that nobody saw is replaced as if it had never begun', async () => {
    const { router, attempts, environment } = stage(
      [says(...calling().slice(0, 2), BROKEN)],
      [says(...calling(), ...CALLED), answers],
    );
    const heard = await streamed(router, request);
    expect([heard.text, heard.error]).toEqual(['Done.', undefined]);
    expect(attempts).toEqual(['one connection', 'two ok', 'two ok']);
    expect(environment.pendingTimers).toBe(0);
  });

  it('by sending something that is no piece is replaced too', async () => {
    const { router, attempts } = stage([says(...calling(), null as unknown as StreamPiece)], [answers]);
    expect((await streamed(router, request)).text).toBe('Done.');
    expect(attempts).toEqual(['one adapter', 'two ok']);
  });
});

describe('a server tool that goes wrong', () => {
  const cases: readonly (readonly [name: string, execute: () => unknown, result: string])[] = [
    [
      'throws',
      () => {
        throw new Error('secret');
      },
      '{"status":"error","error":"The tool failed"}',
    ],
    ['rejects', () => Promise.reject(new Error('secret')), '{"status":"error","error":"The tool failed"}'],
    [
      'throws an error of ours',
      () => Promise.reject(new RouterError({ status: 404, errorType: 'not_found', message: 'No such page' })),
      '{"status":"error","error":"No such page"}',
    ],
    ['gives nothing', () => undefined, '{"status":"error","error":"The tool gave no usable result"}'],
    ['gives no result', () => ({ text: 'x' }), '{"status":"error","error":"The tool gave no usable result"}'],
    ['gives a function', () => ({ result: () => 1 }), '{"status":"error","error":"The tool gave no usable result"}'],
    [
      'gives too much',
      () => ({ result: 'x'.repeat(8_100_000) }),
      '{"status":"error","error":"The tool gave no usable result"}',
    ],
    [
      'gives sources that are none',
      () => ({ result: 'x', annotations: 'y' }),
      '{"status":"error","error":"The tool gave no usable result"}',
    ],
  ];

  it.each(cases)('%s: the model reads of it, and answers', async (_name, execute, result) => {
    const model = turns({ toolCalls: [call('echo')] }, 'Never mind.');
    const bench = pluginBench(model.script, { serverTools: [echoTool('router:echo', { execute: execute as never })] });
    for await (const [way, said] of bothWays(bench.router, hello({ tools: [{ type: 'router:echo' }] }))) {
      expect([way, said.text]).toEqual([way, 'Never mind.']);
      expect(said.details).toMatchObject([{ result }]);
      expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: result });
    }
    expect(bench.warnings[0]).toMatchObject({
      code: 'server_tool_failed',
      message: 'The server tool "router:echo" did not give a result: error',
    });
    expect(JSON.stringify(bench.warnings.map(({ message }) => message))).not.toContain('secret');
  });

  it.each(['{"text":', '[1]', '"x"', 'null'])('is not run with arguments that are no object: %s', async (args) => {
    const model = turns({ toolCalls: [call('echo', args)] }, 'Sorry.');
    const bench = pluginBench(model.script, {
      serverTools: [echoTool('router:echo', { execute: () => expect.fail('ran') })],
    });
    const answer = await bench.router.chat(hello({ tools: [{ type: 'router:echo' }] }));
    expect(answer.choices[0]?.message.content).toBe('Sorry.');
    expect(answer.usage?.server_tool_use_details).toEqual({ tool_calls_requested: 1, tool_calls_executed: 0 });
  });

  it('by hanging has its time, while others of the same turn do not wait for it', async () => {
    const model = turns({ toolCalls: [call('echo', { text: 'hang' }), call('echo', { text: 'go' })] }, 'Done.');
    const finished: string[] = [];
    const bench = pluginBench(model.script, {
      serverTools: [
        echoTool('router:echo', {
          execute({ text }) {
            if (text === 'hang') return new Promise(() => {});
            finished.push('go');
            return { result: 'went' };
          },
        }),
      ],
    });
    const asked = bench.router.chat(hello({ tools: [{ type: 'router:echo' }] }));
    await bench.environment.advance(29_999);
    expect([finished, model.requests.length]).toEqual([['go'], 1]);
    await bench.environment.advance(1);
    expect((await asked).choices[0]?.message.reasoning_details).toMatchObject([
      { result: '{"status":"error","error":"The tool took too long"}' },
      { result: 'went' },
    ]);
    expect(bench.environment.pendingTimers).toBe(0);
  });
});

describe('a caller who leaves', () => {
  it.each([true, false])('while a tool runs stops it and everything else (stream: %s)', async (stream) => {
    let signal: AbortSignal | undefined;
    const { router, environment, errors, attempts } = stage([says(...calling(), ...CALLED)], [], {
      execute(_args, _options, context) {
        ({ signal } = context);
        return new Promise(() => {});
      },
    });
    const leaving = new AbortController();
    const asked = stream
      ? router.stream(request, { signal: leaving.signal })[Symbol.asyncIterator]().next()
      : router.chat(request, { signal: leaving.signal });
    const failed = expect(asked).rejects.toThrow('gone');
    await environment.settle();
    expect(signal?.aborted).toBe(false);
    leaving.abort(new Error('gone'));
    await failed;
    expect(signal?.aborted).toBe(true);
    expect(attempts).toEqual(['one ok']);
    expect(errors).toEqual([{ status: 499, committed: false }]);
    expect(environment.pendingTimers).toBe(0);
  });

  it('between two chunks of a stream ends the turn that is under way', async () => {
    const feeds: FedCall[] = [];
    const { router, environment, errors } = stage([
      says(...calling('Wait. '), ...CALLED),
      (fed) => {
        feeds.push(fed);
        fed.push('Half');
      },
    ]);
    for await (const chunk of router.stream(request)) {
      if (chunk.choices[0]?.delta.content?.includes('Half')) break;
    }
    await environment.settle();
    expect(feeds[0]?.cancelled).toBe(true);
    expect(errors).toEqual([{ status: 499, committed: true }]);
    expect(environment.pendingTimers).toBe(0);
  });
});

describe('the time of a loop', () => {
  it('is that of one request, as long as nothing was shown', async () => {
    const { router, environment } = stage([says(...calling(), ...CALLED), () => {}], [], {
      timeoutMs: 700_000,
      execute: (_args, _options, { signal }) =>
        new Promise((resolve) => {
          environment.setTimer(() => resolve({ result: 'late' }), 500_000);
          signal.addEventListener('abort', () => resolve({ result: 'aborted' }));
        }),
    });
    let error: unknown;
    const asked = router.chat(request).catch((thrown: unknown) => (error = thrown));
    await environment.advance(599_999);
    expect(error).toBeUndefined();
    await environment.advance(1);
    await asked;
    expect(error).toMatchObject({ status: 408 });
  });
});
