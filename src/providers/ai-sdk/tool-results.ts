import { isJsonObject } from '../../protocol/json.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import type { ToolMessage } from '../../protocol/message.ts';
import { parseJson } from '../parse-json.ts';
import type { FilePrompt, ResultPart, ToolOutput } from './call-options.ts';
import type { AiSdkFamily } from './families.ts';
import type { SpecVersion } from './model.ts';

/** Writes a content part as a file of the prompt. */
export type WriteFile = (part: Exclude<ContentPart, { readonly type: 'text' }>, where: string) => FilePrompt;

/** The output of one tool, and the media that have to follow in a message of their own. */
export interface WrittenResult {
  readonly output: ToolOutput;
  readonly media: readonly FilePrompt[];
}

/** Writes what a tool gave back. Models that take media in results get them there; the others right behind. */
export function writeResult(
  { content }: ToolMessage,
  where: string,
  { family, version, writeFile }: { family: AiSdkFamily; version: SpecVersion; writeFile: WriteFile },
): WrittenResult {
  if (typeof content === 'string') return { output: textOutput(content, family), media: [] };
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (content.every((part) => part.type === 'text')) return { output: textOutput(text, family), media: [] };
  const files = content.flatMap((part, index) =>
    part.type === 'text' ? [] : [writeFile(part, `${where}.content[${index}]`)],
  );
  // Version 2 has no addresses in results.
  const inside =
    family.mediaInResults === true && (version !== 'v2' || files.every(({ data }) => !(data instanceof URL)));
  if (!inside) return { output: { type: 'text', value: text || FOLLOWS }, media: files };
  let next = 0;
  const value = content.flatMap((part): ResultPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    const file = files[next];
    next += 1;
    return file === undefined ? [] : [resultPart(file, version)];
  });
  return { output: { type: 'content', value }, media: [] };
}

const FOLLOWS = 'The result follows in the next message.';

/** An object is passed as such where that is better understood, unless numbers in it would lose digits. */
function textOutput(text: string, { jsonResults }: AiSdkFamily): ToolOutput {
  if (jsonResults === true && text.trimStart().startsWith('{') && !/\d{16}/.test(text)) {
    const value = parseJson(text);
    if (isJsonObject(value)) return { type: 'json', value };
  }
  return { type: 'text', value: text };
}

function resultPart(file: FilePrompt, version: SpecVersion): ResultPart {
  if (version === 'v4') return file;
  const { data, mediaType, filename } = file;
  const kind = mediaType.startsWith('image/') ? 'image' : 'file';
  if (data instanceof URL) return { type: `${kind}-url`, url: data.href };
  const base64 = typeof data === 'string' ? data : '';
  if (version === 'v2') return { type: 'media', data: base64, mediaType };
  return { type: `${kind}-data`, data: base64, mediaType, ...(filename === undefined ? {} : { filename }) };
}
