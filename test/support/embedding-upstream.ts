import { type UpstreamHandler, sendJson } from './upstream.ts';

/** A vector for a text, of numbers that 32-bit floats hold exactly, and different for different texts. */
export function vectorOf(input: unknown, length = 3): number[] {
  const text = JSON.stringify(input);
  return Array.from({ length }, (_, place) =>
    Math.fround(((text.length * 31 + text.charCodeAt(place % text.length) * (place + 1)) % 97) / 97),
  );
}

/** Base64 of little-endian 32-bit floats, written without the code under test. */
export function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, number] of vector.entries()) bytes.writeFloatLE(number, index * 4);
  return bytes.toString('base64');
}

/** The numbers behind such base64. */
export function numbersOf(base64: unknown): number[] {
  const bytes = Buffer.from(String(base64), 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

/** Body of a good answer to a request for embeddings. */
export function embeddingsBody(body: Readonly<Record<string, unknown>>): {
  object: string;
  model: unknown;
  data: { object: string; index: number; embedding: unknown }[];
  usage: Record<string, number>;
} {
  const inputs = body['input'] as readonly unknown[];
  const vectors = inputs.map((input) => vectorOf(input, Number(body['dimensions'] ?? 3)));
  return {
    object: 'list',
    model: body['model'],
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: body['encoding_format'] === 'base64' ? base64Of(vector) : vector,
    })),
    usage: { prompt_tokens: 8, total_tokens: 8 },
  };
}

/** Plays a provider of the embeddings wire that writes vectors in the form it is asked for. */
export const embeddingProvider: UpstreamHandler = ({ body }, response) => sendJson(response, 200, embeddingsBody(body));
