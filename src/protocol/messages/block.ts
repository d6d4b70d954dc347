import * as z from 'zod';
import { type CacheControl, cacheControlSchema } from '../content-part.ts';
import { identifier, jsonObject, nullish } from '../fields.ts';
import { openUnion } from './open-union.ts';

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
export interface ImageBlock extends CacheMark {
  readonly type: 'image';
  readonly source: ImageSource;
}

/** Where a document comes from. */
export type DocumentSource =
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

/** One block of a message's content, told apart by `type`. */
export type MessagesBlock =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | SearchResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | ServerToolUseBlock
  | ServerToolResultBlock;

const cacheMark = { cache_control: nullish(cacheControlSchema) };
const id = identifier(1, 512);
const webUrl = z.string().regex(/^https?:\/\/[^\s]/i, 'must be an http(s) URL');

const text = z.looseObject({
  type: z.literal('text'),
  text: z.string(),
  citations: nullish(z.array(jsonObject)),
  ...cacheMark,
});

const fileSource = z.looseObject({ type: z.literal('file'), file_id: id });

const image = z.looseObject({
  source: z.discriminatedUnion('type', [
    z.looseObject({
      type: z.literal('base64'),
      media_type: z.string().regex(/^image\/[\w.+-]{1,64}$/, 'must be a media type such as "image/png"'),
      data: z.string().min(1),
    }),
    z.looseObject({ type: z.literal('url'), url: webUrl }),
    fileSource,
  ]),
  ...cacheMark,
});

const document = z.looseObject({
  source: z.discriminatedUnion('type', [
    z.looseObject({
      type: z.literal('base64'),
      media_type: z.literal('application/pdf'),
      data: z.string().min(1),
    }),
    z.looseObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    z.looseObject({
      type: z.literal('content'),
      content: z.union([
        z.string(),
        z.array(z.discriminatedUnion('type', [text, image.extend({ type: z.literal('image') })])),
      ]),
    }),
    z.looseObject({ type: z.literal('url'), url: webUrl }),
    fileSource,
  ]),
  title: nullish(z.string()),
  context: nullish(z.string()),
  ...cacheMark,
});

const searchResult = z.looseObject({
  source: z.string(),
  title: z.string(),
  content: z.array(text),
  ...cacheMark,
});

const shown = { text, image, document, search_result: searchResult };

const IN_ASSISTANT = 'an assistant message';
const IN_USER = 'the content of a user message';

/** Blocks that only a model writes. */
const WRITTEN_BY_MODELS = Object.fromEntries(
  ['thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use', ...SERVER_TOOL_RESULTS].map(
    (type) => [type, IN_ASSISTANT],
  ),
);

const toolResult = z.looseObject({
  tool_use_id: id,
  content: nullish(z.union([z.string(), z.array(openUnion(shown, { ...WRITTEN_BY_MODELS, tool_result: IN_USER }))])),
  is_error: nullish(z.boolean()),
  ...cacheMark,
});

const serverToolUse = z.looseObject({ id, name: z.string().min(1).max(256), input: z.unknown(), ...cacheMark });
const serverToolResult = z.looseObject({ tool_use_id: id, content: z.unknown(), ...cacheMark });

/** Content of a user message. */
export const userContentSchema = z.union([
  z.string(),
  z.array(openUnion({ ...shown, tool_result: toolResult }, WRITTEN_BY_MODELS)).min(1),
]);

/** Content of an assistant message. An answer that said nothing comes back empty. */
export const assistantContentSchema = z.union([
  z.string(),
  z.array(
    openUnion(
      {
        ...shown,
        thinking: z.looseObject({ thinking: z.string(), signature: z.string() }),
        redacted_thinking: z.looseObject({ data: z.string() }),
        tool_use: z.looseObject({ id, name: z.string().min(1).max(256), input: jsonObject, ...cacheMark }),
        server_tool_use: serverToolUse,
        mcp_tool_use: serverToolUse,
        ...Object.fromEntries(SERVER_TOOL_RESULTS.map((type) => [type, serverToolResult])),
      },
      { tool_result: IN_USER },
    ),
  ),
]);

/** Content of `system`, and of a system message: text only. */
export const systemContentSchema = z.union([z.string(), z.array(z.discriminatedUnion('type', [text]))]);
