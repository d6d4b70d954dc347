import { createRouter, openai } from 'signalbox';
import { type StrictUpstream, type StrictVendor, strictUpstream } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { STRICT_VENDORS } from '../../src/testing/strict-upstream/vendors.ts';
import { STRICT_CASES, type StrictCases } from '../support/strict-cases.ts';

/** Longer than every case but those that are meant to be too long. */
const CONTEXT = 1_100;

async function send(
  { baseURL }: StrictUpstream,
  { path, model, valid }: StrictCases,
  change: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const { model: chosen = model, ...fields } = change;
  const native = path.startsWith('/models/');
  const response = await fetch(`${baseURL}${native ? path.replace(model, String(chosen)) : path}`, {
    method: 'POST',
    body: JSON.stringify({ ...(native ? {} : { model: chosen }), ...valid, ...fields }),
  });
  return { status: response.status, text: await response.text() };
}

describe.each(STRICT_CASES)('a strict upstream of $vendor at $path with $template', (cases) => {
  const { vendor, template, broken } = cases;

  it('takes a valid request', async () => {
    await using upstream = await strictUpstream(vendor, { template });
    expect(await send(upstream, cases)).toMatchObject({ status: 200 });
    expect([upstream.accepted, upstream.refusals]).toEqual([1, []]);
  });

  it('refuses what breaks each of its rules, with the words of the vendor', async () => {
    for (const [rule, change] of Object.entries(broken)) {
      const contextTokens = rule.endsWith('/too-long') ? CONTEXT : undefined;
      await using upstream = await strictUpstream(vendor, { template, contextTokens });
      const { status, text } = await send(upstream, cases, change);
      const [refusal] = upstream.refusals;
      expect([rule, refusal?.rules.includes(rule), status]).toEqual([rule, true, refusal?.status]);
      expect(status).toBeGreaterThanOrEqual(400);
      // Quotes and line ends of a message are escaped in the body.
      expect(text).toContain(JSON.stringify(refusal?.message.split(': ').at(-1) ?? rule).slice(1, -1));
      expect(refusal?.message).not.toMatch(/\{\w+\}/);
      expect(upstream.accepted).toBe(0);
    }
  });
});

describe('the rules', () => {
  it.each(Object.keys(STRICT_VENDORS) as StrictVendor[])(
    'of %s are all broken by a case, and say where they come from',
    (vendor) => {
      const covered = new Set(STRICT_CASES.flatMap(({ broken }) => Object.keys(broken)));
      const rules = STRICT_VENDORS[vendor].apis.flatMap((api) => api.rules);
      expect(rules.filter(({ id }) => !covered.has(id)).map(({ id }) => id)).toEqual([]);
      for (const { source, date, checks, id } of rules) {
        expect([id, source.length > 10, /^20\d\d-\d\d(?:-\d\d)?$/.test(date), checks.length > 10]).toEqual([
          id,
          true,
          true,
          true,
        ]);
      }
    },
  );

  it('can be left out by their ids, and are named when one is not there', async () => {
    await using upstream = await strictUpstream('openai', { without: ['openai/parameter-unknown'] });
    const response = await fetch(`${upstream.baseURL}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }], top_k: 4 }),
    });
    expect(response.status).toBe(200);
    await expect(strictUpstream('openai', { without: ['openai/none'] })).rejects.toThrow(
      'openai has no rule "openai/none"',
    );
  });
});

describe('answers', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: schema } }];
  const forced = { tools, tool_choice: 'required' as const };

  async function routed(fields: object, stream: boolean): Promise<{ text: string; call: string | undefined }> {
    await using upstream = await strictUpstream('openai');
    const provider = openai({
      apiKey: 'k',
      baseURL: upstream.baseURL,
      models: { 'openai/gpt-4.1': { upstreamModel: 'gpt-4.1' } },
    });
    const router = createRouter({ providers: [provider] });
    const request = {
      model: 'openai/gpt-4.1' as const,
      messages: [{ role: 'user' as const, content: 'Hello' }],
      ...fields,
    };
    let text = '';
    let call: string | undefined;
    if (stream) {
      for await (const { choices } of await router.stream(request)) {
        text += choices[0]?.delta.content ?? '';
        const { name = '', arguments: input = '' } = choices[0]?.delta.tool_calls?.[0]?.function ?? {};
        if (name + input !== '') call = `${call ?? ''}${name}${input}`;
      }
    } else {
      const { choices } = await router.chat(request);
      text = choices[0]?.message.content ?? '';
      const called = choices[0]?.message.tool_calls?.[0]?.function;
      call = called && `${called.name}${called.arguments}`;
    }
    await router.close();
    return { text, call };
  }

  it.each([false, true])('are a text, a forced call, or JSON of the schema (streamed: %s)', async (stream) => {
    expect(await routed({}, stream)).toEqual({ text: 'Fine.', call: undefined });
    expect(await routed(forced, stream)).toEqual({ text: '', call: 'look{"n":1}' });
    const format = { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } };
    expect(await routed(format, stream)).toEqual({ text: '{"n":1}', call: undefined });
  });
});
