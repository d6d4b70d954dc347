import type { JsonObject } from '../../../protocol/json.ts';
import type {
  DocumentBlock,
  ImageSource,
  MessagesBlock,
  SearchResultBlock,
  TextBlock,
} from '../../../protocol/messages/block.ts';

/** Characters of a document's title that its part may keep. */
const MAX_FILENAME = 512;

/** The content of a chat message: a string where one plain text is all there is. */
export function chatContent(blocks: string | readonly MessagesBlock[]): string | readonly JsonObject[] {
  if (typeof blocks === 'string') return blocks;
  const [first] = blocks;
  if (blocks.length === 1 && first?.type === 'text' && first.cache_control == null) return first.text;
  return blocks.flatMap(partsOf);
}

/** The parts of the chat form that say what a block says. A cache mark stays with the last of them. */
function partsOf(block: MessagesBlock): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return marked([textPart(block.text)], block);
    case 'image':
      return marked([imagePart(block.source)], block);
    case 'document':
      return marked(documentParts(block), block);
    case 'search_result':
      return marked([textPart(textOfSearchResult(block))], block);
    default:
      // A kind of block that needs an endpoint of this wire, which gets the caller's own body.
      return [textPart('')];
  }
}

function marked(
  parts: readonly JsonObject[],
  { cache_control: mark }: Pick<TextBlock, 'cache_control'>,
): readonly JsonObject[] {
  const last = parts.at(-1);
  return mark == null || last === undefined ? parts : [...parts.slice(0, -1), { ...last, cache_control: { ...mark } }];
}

function textPart(text: string): JsonObject {
  return { type: 'text', text };
}

function imagePart(source: ImageSource): JsonObject {
  if (source.type === 'file') return { type: 'file', file: { file_id: source.file_id } };
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: 'image_url', image_url: { url } };
}

/** PDFs stay files. Text becomes text, with its title and context before it: few providers take text files. */
function documentParts({ source, title, context }: DocumentBlock): readonly JsonObject[] {
  const filename = title == null || title === '' ? {} : { filename: title.slice(0, MAX_FILENAME) };
  const heading = [title, context].filter((line) => line != null && line !== '').join('\n');
  const remark = context == null || context === '' ? [] : [textPart(context)];
  switch (source.type) {
    case 'base64':
      return [
        ...remark,
        { type: 'file', file: { ...filename, file_data: `data:${source.media_type};base64,${source.data}` } },
      ];
    case 'url':
      return [...remark, { type: 'file', file: { ...filename, file_data: source.url } }];
    case 'file':
      return [...remark, { type: 'file', file: { ...filename, file_id: source.file_id } }];
    case 'text':
      return [textPart(heading === '' ? source.data : `${heading}\n\n${source.data}`)];
    case 'content': {
      const inner = typeof source.content === 'string' ? [textPart(source.content)] : source.content.flatMap(partsOf);
      return heading === '' ? inner : [textPart(heading), ...inner];
    }
  }
}

function textOfSearchResult({ title, source, content }: SearchResultBlock): string {
  return [title, source, ...content.map((block: TextBlock) => block.text)].join('\n');
}
