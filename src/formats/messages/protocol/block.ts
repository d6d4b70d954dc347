/** The content blocks of Anthropic's Messages, and their schemas. */
import { nullish } from '../../../schema/modifiers.ts';
import { union, discriminatedUnion, narrowed } from '../../../schema/choices.ts';
import { jsonObject, array } from '../../../schema/collections.ts';
import { looseObject } from '../../../schema/object.ts';
import { unknown, literal, boolean, string } from '../../../schema/scalars.ts';
import type { AnySchema } from '../../../schema/form.ts';
import { base64Data, type CacheControl, cacheControlSchema } from '../../../protocol/content-part.ts';
import { identifier } from '../../../protocol/fields.ts';

interface CacheMark {
  readonly cache_control?: CacheControl | null | undefined;
}

/** Plain text. Citations of an earlier answer may come back with it. */
export interface TextBlock extends CacheMark {
  readonly type: 'text';
  readonly text: string;
  readonly citations?: readonly object[] | null | undefined;
}

/** Where the bytes of an image come from. */
export type ImageSource =
  | { readonly type: 'base64'; readonly media_type: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'file'; readonly file_id: string };

/** An image. */
interface ImageBlock extends CacheMark {
  readonly type: 'image';
  readonly source: ImageSource;
}

/** Where a document comes from. */
type DocumentSource =
  | { readonly type: 'base64'; readonly media_type: string; readonly data: string }
  | { readonly type: 'text'; readonly media_type: string; readonly data: string }
  | { readonly type: 'content'; readonly content: string | readonly (TextBlock | ImageBlock)[] }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'file'; readonly file_id: string };

/** A document: a PDF, plain text, or blocks that belong together. */
export interface DocumentBlock extends CacheMark {
  readonly type: 'document';
  readonly source: DocumentSource;
  readonly title?: string | null | undefined;
  readonly context?: string | null | undefined;
}

/** Something that a search of the caller's own found. */
export interface SearchResultBlock extends CacheMark {
  readonly type: 'search_result';
  readonly source: string;
  readonly title: string;
  readonly content: readonly TextBlock[];
}

/** A tool that a search for tools has found. */
export interface ToolReferenceBlock extends CacheMark {
  readonly type: 'tool_reference';
  readonly tool_name: string;
}

/** Reasoning. The signature proves to its maker that the text was not changed. */
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

/** Reasoning that only its maker can read. */
export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/** A call the model made, to be run by the caller. */
export interface ToolUseBlock extends CacheMark {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The result of a tool call. */
export interface ToolResultBlock extends CacheMark {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: string | readonly MessagesBlock[] | null | undefined;
  readonly is_error?: boolean | null | undefined;
}

/** A call of a tool that the provider ran itself. */
export interface ServerToolUseBlock extends CacheMark {
  readonly type: 'server_tool_use' | 'mcp_tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** Names of the blocks that answer a {@link ServerToolUseBlock}. */
export const SERVER_TOOL_RESULTS = [
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_result',
] as const;

/** What a tool that the provider ran gave back. */
export interface ServerToolResultBlock extends CacheMark {
  readonly type: (typeof SERVER_TOOL_RESULTS)[number];
  readonly tool_use_id: string;
  readonly content: unknown;
}

/** One block of a message's content, distinguished by `type`. */
export type MessagesBlock =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | SearchResultBlock
  | ToolReferenceBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | ServerToolUseBlock
  | ServerToolResultBlock;

const cacheMark = { cache_control: nullish(cacheControlSchema) };
const id = identifier(1, 512);
const webUrl = string({ pattern: [/^https?:\/\/[^\s]/i, 'must be an http(s) URL'] });

const textBlock = looseObject({
  type: literal('text'),
  text: string(),
  citations: nullish(array(jsonObject)),
  ...cacheMark,
});

const fileSource = looseObject({ type: literal('file'), file_id: id });

const imageMembers = {
  source: discriminatedUnion('type', [
    looseObject({
      type: literal('base64'),
      media_type: string({ pattern: [/^image\/[\w.+-]{1,64}$/, 'must be a media type such as "image/png"'] }),
      data: base64Data,
    }),
    looseObject({ type: literal('url'), url: webUrl }),
    fileSource,
  ]),
  ...cacheMark,
};
const image = looseObject(imageMembers);

const document = looseObject({
  source: discriminatedUnion('type', [
    looseObject({
      type: literal('base64'),
      media_type: literal('application/pdf'),
      data: base64Data,
    }),
    looseObject({ type: literal('text'), media_type: literal('text/plain'), data: string() }),
    looseObject({
      type: literal('content'),
      content: union([
        string(),
        array(discriminatedUnion('type', [textBlock, looseObject({ ...imageMembers, type: literal('image') })])),
      ]),
    }),
    looseObject({ type: literal('url'), url: webUrl }),
    fileSource,
  ]),
  title: nullish(string()),
  context: nullish(string()),
  ...cacheMark,
});

const searchResult = looseObject({
  source: string(),
  title: string(),
  content: array(textBlock),
  ...cacheMark,
});

const toolReference = looseObject({ tool_name: string({ least: 1, most: 256 }), ...cacheMark });

const shown = { text: textBlock, image, document, search_result: searchResult, tool_reference: toolReference };

const IN_ASSISTANT = 'an assistant message';
const IN_USER = 'the content of a user message';

/** Blocks that only a model writes. */
const WRITTEN_BY_MODELS = Object.fromEntries(
  ['thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use', ...SERVER_TOOL_RESULTS].map(
    (type) => [type, IN_ASSISTANT],
  ),
);

const toolResult = looseObject({
  tool_use_id: id,
  content: nullish(union([string(), array(openUnion(shown, { ...WRITTEN_BY_MODELS, tool_result: IN_USER }))])),
  is_error: nullish(boolean),
  ...cacheMark,
});

const serverToolUse = looseObject({ id, name: string({ least: 1, most: 256 }), input: unknown, ...cacheMark });
const serverToolResult = looseObject({ tool_use_id: id, content: unknown, ...cacheMark });

/** Content of a user message. */
export const userContentSchema = union([
  string(),
  array(openUnion({ ...shown, tool_result: toolResult }, WRITTEN_BY_MODELS), { least: 1 }),
]);

/** Content of an assistant message. An answer that said nothing comes back empty. */
export const assistantBlocksSchema = union([
  string(),
  array(
    openUnion(
      {
        ...shown,
        thinking: looseObject({ thinking: string(), signature: string() }),
        redacted_thinking: looseObject({ data: string() }),
        tool_use: looseObject({ id, name: string({ least: 1, most: 256 }), input: jsonObject, ...cacheMark }),
        server_tool_use: serverToolUse,
        mcp_tool_use: serverToolUse,
        ...Object.fromEntries(SERVER_TOOL_RESULTS.map((type) => [type, serverToolResult])),
      },
      { tool_result: IN_USER },
    ),
  ),
]);

/** Content of `system`, and of a system message: text only. */
export const systemContentSchema = union([string(), array(discriminatedUnion('type', [textBlock]))]);

/**
 * An object distinguished by `type`. Types without a schema pass as they are: Anthropic adds some every month, and an
 * endpoint that speaks this wire understands them even where we do not.
 *
 * @param elsewhere - Types that exist, but not in this place, with the place where they belong.
 */
function openUnion(
  schemas: Readonly<Record<string, AnySchema>>,
  elsewhere: Readonly<Record<string, string>> = {},
): AnySchema {
  const known = new Map<unknown, AnySchema>(Object.entries(schemas));
  const misplaced = new Map<unknown, string>(Object.entries(elsewhere));
  return narrowed(looseObject({ type: string({ least: 1 }) }), ({ type }) => {
    const place = misplaced.get(type);
    return place === undefined ? known.get(type) : { says: `may only be in ${place}`, path: [] };
  });
}
