/** The types of Google's native API. */
import type { JsonValue } from '../../protocol/json.ts';

/** Bytes inside a request, as base64. */
export interface InlineData {
  readonly mimeType: string;
  readonly data: string;
}

/** Something that Google fetches or stores itself. */
interface FileData {
  readonly mimeType?: string | undefined;
  readonly fileUri: string;
}

/** The result of a function, as the model gets it. */
export interface FunctionResponse {
  readonly id?: string | undefined;
  readonly name: string;
  readonly response: Readonly<Record<string, JsonValue | undefined>>;
  /** Images and documents that belong to the result. */
  readonly parts?: readonly { readonly inlineData: InlineData }[] | undefined;
}

/** One part of a turn. The signature is opaque and stays with the part it came with. */
export interface Part {
  readonly text?: string | undefined;
  /** True for a summary of what the model thought. */
  readonly thought?: true | undefined;
  readonly thoughtSignature?: string | undefined;
  readonly inlineData?: InlineData | undefined;
  readonly fileData?: FileData | undefined;
  readonly functionCall?:
    | { readonly id?: string | undefined; readonly name: string; readonly args: Readonly<Record<string, unknown>> }
    | undefined;
  readonly functionResponse?: FunctionResponse | undefined;
}

/** One turn. */
export interface GoogleContent {
  readonly role: 'user' | 'model';
  readonly parts: readonly Part[];
}

/** Which of Google's two entry points is called: they differ in a few fields. */
export interface GoogleSurface {
  /** True for Vertex AI, whose addresses end in `/publishers/google`. */
  readonly vertex: boolean;
  /** Base address, for names of uploaded files. */
  readonly baseURL: string;
}

/**
 * Path of a model below the base address: a name with a slash in it, such as `tunedModels/x`, is a path already. A
 * name can never lead anywhere else: what means something in an address is escaped.
 */
export function modelPath(upstreamModel: string): string {
  // The author's name is part of ids of ours, not of Google's.
  const name = upstreamModel.replace(/^google\//, '');
  const segments = name.split('/');
  const isPath = segments.length > 1 && segments.every((segment) => /[^.]/.test(segment));
  return isPath ? segments.map(encodeURIComponent).join('/') : `models/${encodeURIComponent(name)}`;
}
