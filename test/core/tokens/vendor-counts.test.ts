import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { imageSize } from '../../../src/core/tokens/image-size.ts';
import { inVocabularyOf, promptParts } from '../../../src/core/tokens/prompt-parts.ts';
import { countsOf } from '../../../src/core/tokens/vendor-counts.ts';
import type { ContentPart } from '../../../src/protocol/content-part.ts';
import type { Tool } from '../../../src/protocol/tools.ts';

/** Tokens of a prompt, its texts counted with OpenAI's vocabulary. */
function counted(model: string, content: string | ContentPart[], more: object = {}): number {
  const request = { messages: [{ role: 'user' as const, content }], tools: [], responseFormat: undefined, ...more };
  const { texts, fixedTokens } = promptParts(request, model);
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  return inVocabularyOf(model, tokens, fixedTokens);
}

const image = (url: string, detail?: 'low' | 'high' | 'original'): ContentPart[] => [
  { type: 'image_url', image_url: detail === undefined ? { url } : { url, detail } },
];

/** Files as they begin: that is all that is read of them. */
function dataUrl(type: string, ...bytes: readonly number[]): string {
  return `data:image/${type};base64,${Buffer.from([...bytes, ...Array<number>(40).fill(0)]).toString('base64')}`;
}
const two = (number: number): readonly number[] => [number >> 8, number & 255];
const four = (number: number): readonly number[] => [0, 0, ...two(number)];
const reversed = (bytes: readonly number[]): readonly number[] => bytes.toReversed();
const chars = (text: string): readonly number[] => [...Buffer.from(text, 'latin1')];
const png = (width: number, height: number): string =>
  dataUrl('png', ...chars('\x89PNG\r\n\x1a\n'), 0, 0, 0, 13, ...chars('IHDR'), ...four(width), ...four(height));

describe('the size of an image', () => {
  it.each<readonly [string, string]>([
    ['PNG', png(640, 480)],
    ['GIF', dataUrl('gif', ...chars('GIF89a'), ...reversed(two(640)), ...reversed(two(480)))],
    [
      'JPEG',
      dataUrl('jpeg', 255, 0xd8, 255, 0xe0, 0, 4, 1, 2, 255, 0xc4, 0, 2, 255, 0xc2, 0, 17, 8, ...two(480), ...two(640)),
    ],
    [
      'WebP, lossy',
      dataUrl(
        'webp',
        ...chars('RIFF0000WEBPVP8 '),
        ...Array<number>(10).fill(0),
        ...reversed(two(640)),
        ...reversed(two(480)),
      ),
    ],
    [
      'WebP, extended',
      dataUrl(
        'webp',
        ...chars('RIFF0000WEBPVP8X'),
        ...Array<number>(8).fill(0),
        ...reversed(two(639)),
        0,
        ...reversed(two(479)),
        0,
      ),
    ],
  ])('is read from a %s', (_, url) => {
    expect(imageSize(url)).toEqual({ width: 640, height: 480 });
  });

  it.each([
    'https://example.com/a.png',
    'data:image/png;base64,',
    'data:image/jpeg;base64,////',
    'data:image/png;base64,iVBORw0KGgo=',
    png(0, 0),
    png(0, 480),
    'data:text/plain,x',
    '',
  ])('is unknown of %j', (url) => {
    expect(imageSize(url)).toBeUndefined();
  });

  it('is looked for in the beginning only', () => {
    const long = dataUrl('jpeg', 255, 0xd8, 255, 0xe1, 255, 255) + 'A'.repeat(50_000_000);
    const before = process.cpuUsage();
    expect(imageSize(long)).toBeUndefined();
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(50);
  });
});

describe('tokens of images', () => {
  it.each(['openai/gpt-5', 'anthropic/claude-sonnet-4.5', 'google/gemini-3-pro', 'acme/one'])(
    'are a number for an image that says it has no pixels, with %s',
    (model) => expect(counted(model, image(png(0, 0)))).toBeGreaterThan(0),
  );

  // The examples of the vendors' own pages, where they have some.
  it.each<readonly [string, string, 'low' | 'high' | 'original' | undefined, number]>([
    ['openai/gpt-4o', png(1_024, 1_024), undefined, 765],
    ['openai/gpt-4o', png(2_048, 4_096), undefined, 1_105],
    ['openai/gpt-4o', png(4_096, 8_192), 'low', 85],
    ['openai/o3', png(1_024, 1_024), undefined, 675],
    ['openai/gpt-5', png(1_024, 1_024), 'low', 70],
    ['openai/gpt-4.1-mini', png(1_024, 1_024), undefined, Math.ceil(1_024 * 1.62)],
    ['openai/gpt-4.1-mini', png(1_800, 2_400), undefined, Math.ceil(1_452 * 1.62)],
    ['openai/gpt-5.4', png(4_096, 4_096), undefined, 2_500 * 1.2],
    ['openai/gpt-5.4', png(3_200, 960), 'original', 3_600],
    ['openai/gpt-5.5', png(640, 480), 'high', 360],
    ['openai/gpt-6', png(6_400, 6_400), undefined, 40_000 * 1.2],
    ['openai/gpt-6', png(640, 480), 'low', Math.ceil(192 * 1.2)],
    ['anthropic/claude-sonnet-4.5', png(200, 200), undefined, 8 * 8 + 3],
    ['anthropic/claude-sonnet-4.5', png(1_092, 1_092), undefined, 39 * 39 + 3],
    // Made smaller to 1456 by 819, and to 924 by 1307: patches are what is too much, not pixels.
    ['anthropic/claude-sonnet-4.5', png(1_920, 1_080), undefined, 52 * 30 + 3],
    ['anthropic/claude-haiku-4-5', png(1_075, 1_520), 'low', 33 * 47 + 3],
    ['anthropic/claude-opus-4.7', png(1_075, 1_520), undefined, 39 * 55 + 3],
    ['anthropic/claude-sonnet-4.5', png(8_000, 10), undefined, 56 + 3],
    ['google/gemini-2.5-flash', png(384, 384), undefined, 258],
    ['google/gemini-2.5-flash', png(960, 540), undefined, 7 * 258],
    ['google/gemini-3-flash', png(10, 10), undefined, 33 * 33],
    ['google/gemini-3-flash', png(60, 30), undefined, 47 * 23],
    ['google/gemini-3-flash', png(9_000, 1), undefined, 1_120],
    ['mistralai/mistral-small', png(64, 64), undefined, 3 * 4],
    ['x-ai/grok-4', png(448, 448), undefined, 256],
    ['x-ai/grok-4', png(896, 448), undefined, 768],
    ['qwen/qwen3-vl-8b', png(320, 320), undefined, 102],
  ])('are those of %s', (model, url, detail, tokens) => {
    const without = counted(model, [{ type: 'text', text: 'Look' }]);
    expect(counted(model, [{ type: 'text', text: 'Look' }, ...image(url, detail)]) - without).toBe(tokens);
  });
});

describe('what is counted besides texts', () => {
  const tool: Tool = {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['c', 'f'] } },
        required: ['city'],
      },
    },
  };

  it('is what OpenAI reports for a question: its text and seven tokens', () => {
    const question = 'What is the capital of France?';
    expect(counted('openai/gpt-4o', question)).toBe(countTokens(question) + 7);
  });

  it('is a declaration as OpenAI shows it to its models, not as it came', () => {
    expect(countsOf('openai/gpt-4o').declared(tool.function)).toBe(
      '// The weather of a city.\ntype get_weather = (_: {\ncity: string,\nunit?: "c" | "f",\n}) => any;',
    );
    expect(countsOf('acme/one').declared(tool.function)).toBe(JSON.stringify(tool.function));
  });

  it('is more for tools with Anthropic, which explains them to its models, than with anybody else', () => {
    const cost = (model: string): number => counted(model, 'Hi', { tools: [tool] }) - counted(model, 'Hi');
    expect(cost('anthropic/claude-sonnet-4.5')).toBeGreaterThan(400);
    expect(cost('openai/gpt-4o')).toBeLessThan(60);
    expect(cost('google/gemini-2.5-flash')).toBeLessThan(80);
    expect(cost('acme/one')).toBeGreaterThan(150);
  });

  it('ends with schemas that refer to themselves', () => {
    const deep: Record<string, unknown> = { type: 'array' };
    deep['items'] = deep;
    const looped = { name: 'f', parameters: { type: 'object', properties: { deep } } };
    expect(countsOf('openai/gpt-4o').declared(looped)).toContain('any[]');
    const twice = { anyOf: [{ $ref: '#/$defs/tree' }, { $ref: '#/$defs/tree' }, { $ref: '#/$defs/tree' }] };
    const tree = { name: 'f', parameters: { type: 'object', properties: { twice }, $defs: { tree: twice } } };
    const before = process.cpuUsage();
    for (const model of ['openai/gpt-4o', 'google/gemini-2.5-flash']) countsOf(model).declared(tree);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
  });

  it('is a schema with its definitions in place, titles and defaults as comments, and nothing for no parameters', () => {
    const parameters = {
      type: 'object',
      properties: {
        city: { $ref: '#/$defs/City' },
        unit: { type: 'string', title: 'Unit', default: 'c' },
      },
      required: ['city'],
      $defs: { City: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
    };
    const { declared } = countsOf('openai/gpt-4o');
    expect(declared({ name: 'f', parameters })).toBe(
      'type f = (_: {\ncity: {\nname: string,\n},\n// Unit\n//\nunit?: string, // default: "c"\n}) => any;',
    );
    expect(declared({ name: 'f', parameters: { type: 'object', properties: {} } })).toBe('type f = () => any;');
  });

  it('is less in Responses than in Chat Completions, and more where a tool is named that must be called', () => {
    const cost = (more: object): number => counted('openai/gpt-4o', 'Hi', { tools: [tool], ...more });
    expect(cost({}) - cost({ format: 'responses' })).toBe(6);
    const named = { type: 'function', function: { name: 'get_weather' } };
    expect(cost({ toolChoice: named }) - cost({})).toBe(countTokens('get_weather') + 7);
  });

  it('is a page for each page of a PDF and its text, which is guessed here, and the text of a text', () => {
    const file = (type: string, text: string): number =>
      counted('openai/gpt-4o', [
        {
          type: 'file',
          file: { filename: 'a', file_data: `data:${type};base64,${Buffer.from(text).toString('base64')}` },
        },
      ]);
    const page = '<< /Type /Page /Parent 2 0 R >>\n';
    const perPage = 990 + 1_800 / 4.2;
    const one = file('application/pdf', page);
    expect(file('application/pdf', page.repeat(3)) - one).toBeCloseTo(2 * perPage, -1);
    expect(file('application/pdf', '<< /Type /Pages /Count 7 >>') - one).toBeCloseTo(6 * perPage, -1);
    expect(file('text/plain', 'word '.repeat(400))).toBeLessThan(600);
  });
});
