import type { CacheControl, ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import { EncodeError } from '../encode-error.ts';
import type { ContentBlock, TextBlock } from './blocks.ts';
import { encodeFile, encodeImage } from './encode-media.ts';

/**
 * Writes content as blocks. Blank texts are left out, because the API refuses them.
 *
 * @param path - Where the content stands in the request, for errors.
 */
export function encodeContent(content: string | readonly ContentPart[], path: string): ContentBlock[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part, index) => withMark(encodePart(part, `${path}[${index}]`), part));
}

/** The text of content, as blocks: all that an assistant message or a system message may hold. */
export function encodeText(content: string | readonly (ContentPart | RefusalPart)[]): TextBlock[] {
  if (typeof content === 'string') return textBlocks(content);
  return content.flatMap((part) => {
    if (part.type === 'refusal') return textBlocks(part.refusal);
    return part.type === 'text' ? withMark(textBlocks(part.text), part) : [];
  });
}

/** One text as a block, or none when it is blank. */
export function textBlocks(text: string): TextBlock[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function encodePart(part: ContentPart, path: string): ContentBlock[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text);
    case 'image_url':
      return [encodeImage(part.image_url.url, `${path}.image_url.url`)];
    case 'file':
      return [encodeFile(part, path)];
    case 'input_audio':
      throw new EncodeError(`${path} is audio, which this provider does not take`);
    case 'video_url':
    case 'input_video':
      throw new EncodeError(`${path} is a video, which this provider does not take`);
  }
}

function withMark<Marked extends ContentBlock>(blocks: Marked[], part: ContentPart): Marked[] {
  const mark = markOf(part);
  const last = blocks.at(-1);
  if (mark !== undefined && last !== undefined) last.cache_control = mark;
  return blocks;
}

/** A mark of either style; one without a lifetime gets the provider's default of five minutes. */
function markOf({ cache_control: mark, prompt_cache_breakpoint: breakpoint }: ContentPart): CacheControl | undefined {
  if (mark != null) return cacheMark(mark);
  return breakpoint == null ? undefined : { type: 'ephemeral' };
}

/** A mark with nothing in it but what the API knows. */
export function cacheMark({ ttl }: CacheControl): CacheControl {
  return ttl === undefined ? { type: 'ephemeral' } : { type: 'ephemeral', ttl };
}
