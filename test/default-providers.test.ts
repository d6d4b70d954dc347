import { ConfigError, type Router, type RouterConfig, type WarningEvent, createRouter, simulated } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { VENDOR_PRESETS } from '../src/providers/openai-compatible/presets.ts';
import { ask, hear } from './support/simulated.ts';

beforeEach(() => {
  for (const { apiKeyVariables } of Object.values(VENDOR_PRESETS)) {
    for (const name of apiKeyVariables) vi.stubEnv(name, '');
  }
  for (const name of ['ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY']) vi.stubEnv(name, '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

function slugsOf({ internals }: Router): readonly string[] {
  return internals.config.providers.map((provider) => provider.slug);
}

describe('a router without providers', () => {
  it('answers with simulated answers and says so once on the console, with what would change that', async () => {
    const written = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const environment = fakeEnvironment();
    const router = createRouter({ environment });
    expect(slugsOf(router)).toEqual(['simulated']);
    const answer = hear(router, ask('Hello'));
    await environment.advance(60_000);
    expect((await answer).text).toContain('simulated');
    expect(written.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^signalbox: .*simulated.*OPENAI_API_KEY.*ANTHROPIC_API_KEY.*GROQ_API_KEY.*GEMINI_API_KEY/,
        ),
      ],
    ]);
    expect(String(written.mock.calls[0]?.[0])).not.toContain('\n');
  });

  it('is refused in production, where invented answers would pass for real ones', () => {
    vi.stubEnv('NODE_ENV', 'production');
    const make = () => createRouter({ allowAnonymous: false });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(/^providers are missing, and NODE_ENV is production: set a key such as OPENAI_API_KEY/);
    expect(slugsOf(createRouter({ allowAnonymous: false, providers: [simulated()] }))).toEqual(['simulated']);
    // Next.js evaluates the module of a route in production mode when it builds, without secrets.
    vi.stubEnv('NEXT_PHASE', 'phase-production-build');
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(slugsOf(createRouter({ allowAnonymous: false }))).toEqual(['simulated']);
    vi.stubEnv('NEXT_PHASE', '');
    vi.stubEnv('GROQ_API_KEY', 'gsk-test');
    expect(slugsOf(createRouter({ allowAnonymous: false }))).toEqual(['groq']);
  });

  it('tells a listener instead, where there is one', () => {
    const written = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const heard: WarningEvent[] = [];
    createRouter({ on: { warning: (event) => heard.push(event) } });
    expect(heard).toEqual([{ code: 'simulated', message: expect.stringContaining('OPENAI_API_KEY') }]);
    expect(written).not.toHaveBeenCalled();
  });

  it('needs no options at all', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(slugsOf(createRouter())).toEqual(['simulated']);
    expect(slugsOf(createRouter({ providers: undefined }))).toEqual(['simulated']);
  });

  it('has the providers whose keys are in the environment, and none that is simulated beside them', () => {
    const written = vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubEnv('GROQ_API_KEY', 'gsk-test');
    expect(slugsOf(createRouter())).toEqual(['groq']);
    vi.stubEnv('GEMINI_API_KEY', 'AIza-test');
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-test');
    expect(slugsOf(createRouter())).toEqual(['groq', 'anthropic', 'google']);
    expect(written).not.toHaveBeenCalled();
  });

  it('is a mistake when the list of providers is there and empty', () => {
    expect(() => createRouter({ providers: [] })).toThrow(ConfigError);
  });

  it('takes any model name, and one with simulated providers only theirs', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    expectTypeOf(createRouter()).toEqualTypeOf<Router>();
    expectTypeOf(createRouter({ environment: fakeEnvironment() })).toEqualTypeOf<Router>();
    const config: RouterConfig = {};
    expectTypeOf(createRouter(config)).toEqualTypeOf<Router>();
    const own = createRouter({ providers: [simulated()] });
    expectTypeOf<'simulated/large'>().toExtend<NonNullable<Parameters<typeof own.chat>[0]['model']>>();
    expectTypeOf<'acme/one'>().not.toExtend<NonNullable<Parameters<typeof own.chat>[0]['model']>>();
    const named = createRouter({ providers: [simulated({ models: { 'acme/one': {} } })] });
    expectTypeOf<'acme/one'>().toExtend<NonNullable<Parameters<typeof named.chat>[0]['model']>>();
    expectTypeOf<'simulated/large'>().not.toExtend<NonNullable<Parameters<typeof named.chat>[0]['model']>>();
  });
});
