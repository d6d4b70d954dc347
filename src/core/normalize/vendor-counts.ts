import type { FunctionTool } from '../../protocol/tools.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ImageSize } from './image-size.ts';
import * as read from '../../platform/json.ts';

/**
 * What the author of a model counts besides the texts of a prompt. Found in what providers reported for recorded
 * requests (`npm run bench:tokens`), and for images in what they document.
 */
export interface VendorCounts {
  /** How many tokens its vocabulary makes of one of OpenAI's. */
  readonly factor: number;
  /** Tokens of a prompt, and of the role of each message and what separates it from the next one. */
  readonly perPrompt: number;
  readonly perMessage: number;
  /** Tokens around a call of a tool. */
  readonly perCall: number;
  /** Tokens that the offer of tools costs by itself, whatever they are, and around the declaration of each. */
  readonly toolsAtAll: number;
  readonly perTool: number;
  /** A declaration as the model reads it. */
  readonly declared: (tool: FunctionTool['function']) => string;
  /** Tokens for each token of a schema that the answer must fit, written as JSON. */
  readonly schemaShare: number;
  /** Tokens of an image in full detail. */
  readonly image: (size: ImageSize | undefined, model: string) => number;
  /** Tokens of a second of audio. */
  readonly audioPerSecond: number;
}

/** Tokens of an image of which nothing is known: about what vendors charge for one of 1,000 by 1,000 pixels. */
const IMAGE = 1_400;

const USUAL: VendorCounts = {
  factor: 1,
  perPrompt: 0,
  perMessage: 4,
  perCall: 8,
  toolsAtAll: 150,
  perTool: 12,
  declared: (tool) => JSON.stringify(tool),
  schemaShare: 1,
  image: () => IMAGE,
  audioPerSecond: 10,
};

const BY_AUTHOR: Readonly<Record<string, VendorCounts>> = {
  openai: {
    ...USUAL,
    perPrompt: 3,
    perCall: 7,
    toolsAtAll: 13,
    perTool: 0,
    declared: asTypeScript,
    schemaShare: 0.7,
    image: openAiImage,
  },
  anthropic: { ...USUAL, factor: 1.2, perPrompt: 3, toolsAtAll: 450, perTool: 60, image: anthropicImage },
  google: {
    ...USUAL,
    perMessage: 0,
    perCall: 10,
    toolsAtAll: 0,
    perTool: 8,
    schemaShare: 0,
    image: googleImage,
    audioPerSecond: 32,
  },
};

/** What the author of a model counts; about what most count, where nothing is known of the author. */
export function countsOf(model: string): VendorCounts {
  const author = model.slice(0, Math.max(0, model.indexOf('/')));
  return (Object.hasOwn(BY_AUTHOR, author) ? BY_AUTHOR[author] : undefined) ?? USUAL;
}

/** OpenAI's models read functions as types of TypeScript. */
function asTypeScript({ name, description, parameters }: FunctionTool['function']): string {
  const comment = description == null || description === '' ? '' : `// ${description}\n`;
  return `${comment}type ${name} = (_: ${typeOf(parameters as JsonValue | undefined, 0)}) => any;`;
}

/** Schemas within schemas that are written: deeper ones are no part of any tool that people use. */
const MAX_DEPTH = 12;

function typeOf(schema: JsonValue | undefined, depth: number): string {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return 'any';
  const { enum: words, anyOf, type, items, properties } = schema;
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (Array.isArray(anyOf)) return anyOf.map((one: JsonValue) => typeOf(one, depth + 1)).join(' | ');
  if (type === 'array') return `${typeOf(items, depth + 1)}[]`;
  if (isJsonObject(properties)) {
    const required = new Set(read.list(schema['required']));
    const members = Object.entries(properties).map(([name, member]) => {
      const description = isJsonObject(member) ? read.text(member['description']) : undefined;
      const comment = description === undefined ? '' : `// ${description}\n`;
      return `${comment}${name}${required.has(name) ? '' : '?'}: ${typeOf(member, depth + 1)},`;
    });
    return `{\n${members.join('\n')}\n}`;
  }
  return type === 'integer' ? 'number' : (read.text(type) ?? 'any');
}

/** Patches of 32 by 32 pixels for small models, tiles of 512 by 512 for the others. */
function openAiImage(size: ImageSize | undefined, model: string): number {
  const patchFactor = /nano/.test(model) ? 2.46 : /gpt-5[\d.]*-mini/.test(model) ? 1.2 : /mini/.test(model) ? 1.62 : 0;
  if (size === undefined) return 765;
  const { width, height } = size;
  if (patchFactor > 0) {
    return Math.ceil(Math.min(1_536, Math.ceil(width / 32) * Math.ceil(height / 32)) * patchFactor);
  }
  const fit = Math.min(1, 2_048 / Math.max(width, height));
  const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
  const tiles = Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  return /gpt-5/.test(model) ? 70 + 140 * tiles : 85 + 170 * tiles;
}

/** A token for 750 pixels, of an image that is made smaller where it is large. */
function anthropicImage(size: ImageSize | undefined): number {
  if (size === undefined) return IMAGE;
  const scale = Math.min(1, 1_568 / Math.max(size.width, size.height));
  return Math.min(1_600, Math.ceil((size.width * scale * size.height * scale) / 750));
}

/** A tile of 768 by 768 pixels each, and the whole once more where there are several. */
function googleImage(size: ImageSize | undefined): number {
  if (size === undefined) return 258;
  const tiles = Math.ceil(size.width / 768) * Math.ceil(size.height / 768);
  return 258 * (tiles === 1 ? 1 : tiles + 1);
}
