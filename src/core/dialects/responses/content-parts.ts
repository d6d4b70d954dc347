import type { ContentPart, TextPart } from '../../../protocol/content-part.ts';
import type { InputPart, MessagePart } from '../../../protocol/responses/input-content.ts';

/** Content of a user's message or of a tool's result, in the chat form. */
export function chatContent(content: string | readonly InputPart[]): string | readonly ContentPart[] {
  return typeof content === 'string' ? content : content.flatMap(chatParts);
}

/** Content of instructions: text only. */
export function chatText(content: string | readonly MessagePart[] | null | undefined): string | readonly TextPart[] {
  if (typeof content === 'string' || content == null) return content ?? '';
  return content.flatMap((part) => (part.type === 'input_text' ? [{ ...part, type: 'text' as const }] : []));
}

/** One part in the chat form; nothing for an image that only its own provider can find. */
function chatParts(part: InputPart): readonly ContentPart[] {
  const { type: _, ...rest } = part;
  const marks = {
    ...(part.cache_control == null ? {} : { cache_control: part.cache_control }),
    ...(part.prompt_cache_breakpoint == null ? {} : { prompt_cache_breakpoint: part.prompt_cache_breakpoint }),
  };
  switch (part.type) {
    case 'input_text':
      return [{ ...rest, type: 'text', text: part.text }];
    case 'input_image': {
      const { image_url: url, detail } = part;
      return url == null
        ? []
        : [{ type: 'image_url', image_url: { url, ...(detail == null ? {} : { detail }) }, ...marks }];
    }
    case 'input_file': {
      const { filename, file_id: id } = part;
      const data = part.file_data ?? part.file_url;
      const file = {
        ...(filename == null ? {} : { filename }),
        ...(data == null ? {} : { file_data: data }),
        ...(id == null ? {} : { file_id: id }),
      };
      return [{ type: 'file', file, ...marks }];
    }
    case 'input_audio':
      return [{ type: 'input_audio', input_audio: part.input_audio, ...marks }];
    case 'input_video':
      return [{ type: 'video_url', video_url: { url: part.video_url }, ...marks }];
  }
}
