import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { createRouter, simulated } from '../../src/index.ts';
import { likelyTextTokens } from '../../src/core/tokens/likely-tokens.ts';
import { inVocabularyOf, promptParts } from '../../src/core/tokens/prompt-parts.ts';
import type { ApiFormatName } from '../../src/protocol/api-format.ts';
import { ChatService } from '../../src/router/chat.ts';
import { countable, countPrepared, pdfsOf } from '../../src/runtime/chat/count-tokens.ts';

/** A request and the input tokens that a provider reported for it; see `test/fixtures/tokens/README.md`. */
export interface ReportedCount {
  readonly source: string;
  readonly vendor: string;
  readonly kind: string;
  /** With its author. */
  readonly model: string;
  readonly dialect: 'chat' | ApiFormatName;
  readonly body: object;
  readonly input_tokens: number;
}

/** A request counted with gpt-tokenizer, and by the estimate. */
export interface CountedRequest {
  readonly reported: ReportedCount;
  readonly counted: number;
  readonly estimated: number;
  /** True where the count says that it is an estimate although gpt-tokenizer is there. */
  readonly isGuess: boolean;
}

/** Reads lines of JSON, and puts texts and media of the size that is given for them into the bodies. */
export function readReported(file: string | URL): readonly ReportedCount[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line, withMedia) as ReportedCount);
}

function withMedia(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { $url, $png, $pdf, $wav, $mp3, $words, $tokens, $bytes } = value as Readonly<Record<string, unknown>>;
  let data: string;
  if (typeof $tokens === 'number') return 'word'.concat(' word'.repeat($tokens - 1));
  if (typeof $words === 'number') data = Buffer.from('word '.repeat($words)).toString('base64');
  else if (Array.isArray($png)) data = png(Number($png[0]), Number($png[1]));
  else if (Array.isArray($pdf)) data = pdf(Number($pdf[0]), Number($pdf[1]));
  else if (typeof $wav === 'number') data = wav($wav);
  else if (typeof $mp3 === 'number') data = mp3($mp3);
  else if (typeof $bytes === 'number') data = 'A'.repeat($bytes - ($bytes % 4));
  else return value;
  return typeof $url === 'string' ? `data:${$url};base64,${data}` : data;
}

function png(width: number, height: number): string {
  const bytes = Buffer.alloc(64);
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR', 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

/** A PDF that shows so many characters on its first page; the end of their block is one of them. */
export function pdf(pages: number, characters: number): string {
  const shown = characters === 0 ? '' : `BT /F1 12 Tf (${'x'.repeat(characters - 1)}) Tj ET`;
  const packed = deflateSync(shown).toString('latin1');
  const objects = '<< /Type /Page /Parent 2 0 R >>\n'.repeat(pages);
  const stream = `9 0 obj\n<< /Filter /FlateDecode /Length ${packed.length} >>\nstream\n${packed}\nendstream`;
  return Buffer.from(`%PDF-1.4\n${objects}${stream}\n`, 'latin1').toString('base64');
}

/** Samples of one byte each, a thousand a second. */
export function wav(seconds: number): string {
  const samples = Math.round(seconds * 1_000);
  const bytes = Buffer.alloc(44 + samples);
  bytes.write('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1');
  bytes.writeUInt32LE(1_000, 28);
  bytes.write('data', 36);
  bytes.writeUInt32LE(samples, 40);
  return bytes.toString('base64');
}

/** A first frame that says how many frames of 576 samples follow, at 24 kHz. */
export function mp3(seconds: number): string {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt32BE(0xff_f3_64_c4);
  bytes.write('Xing\0\0\0\x01', 20, 'latin1');
  bytes.writeUInt32BE(Math.round((seconds * 24_000) / 576), 28);
  return bytes.toString('base64');
}

/** Counts requests as `count_tokens` does where no provider counts; leaves out those that the router refuses. */
export async function countReported(all: readonly ReportedCount[]): Promise<{
  readonly counted: readonly CountedRequest[];
  readonly refused: readonly string[];
}> {
  const models = Object.fromEntries(all.map(({ model }) => [model, {}]));
  const router = createRouter({
    providers: [simulated({ models })],
    limits: { bodyBytes: 100_000_000, bytesInHand: 400_000_000 },
  });
  const { services } = router.internals;
  const chat = new ChatService(services);
  const counted: CountedRequest[] = [];
  const refused: string[] = [];
  for (const reported of all) {
    const { body, model } = reported;
    const dialect = reported.dialect === 'chat' ? undefined : reported.dialect;
    try {
      const prepared = await chat.prepare(countable({ ...body, model }, dialect), { apiFormat: dialect }, 'whole');
      const { texts, fixedTokens } = promptParts(prepared.request, model, await pdfsOf(prepared.request.messages));
      const estimated = inVocabularyOf(model, likelyTextTokens(texts), fixedTokens);
      const { input_tokens: tokens, counted_by: by } = await countPrepared(services, prepared);
      counted.push({ reported, counted: tokens, estimated, isGuess: by === 'estimate' });
    } catch (error) {
      refused.push(`${reported.source}: ${error instanceof Error ? error.message : ''}`);
    }
  }
  await router.close();
  return { counted, refused };
}

/** How far counts are from what was reported: the error in the middle, and the share that is at most a tenth off. */
export function errorsOf(
  group: readonly CountedRequest[],
  by: 'counted' | 'estimated',
): { readonly median: number; readonly within: number } {
  const off = group.map((one) => Math.abs(one[by] - one.reported.input_tokens));
  const errors = group.map((one, index) => (off[index] ?? 0) / one.reported.input_tokens).toSorted((a, b) => a - b);
  // A token more or less is near, however short the prompt is.
  const near = group.filter((one, index) => (off[index] ?? 0) <= Math.max(1, one.reported.input_tokens / 10));
  return { median: errors[errors.length >> 1] ?? 0, within: near.length / group.length };
}
