/** Reads bodies of Google's `generateContent` and `streamGenerateContent`. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { StrictRequest } from './rule.ts';

/** The configuration of a request. */
export function configOf({ body }: Pick<StrictRequest, 'body'>): JsonObject {
  return read.object(body['generationConfig']);
}

/** A function that a request offers. */
export interface Declaration {
  readonly tool: number;
  readonly at: number;
  readonly fields: JsonObject;
}

/** Functions of a body, with their places. */
export function declarationsOf({ body }: StrictRequest): readonly Declaration[] {
  return read
    .objects(body['tools'])
    .flatMap((one, tool) => read.objects(one['functionDeclarations']).map((fields, at) => ({ tool, at, fields })));
}

/** Whether a model is of Gemini 3 or later. */
export function isFrom3(model: string): boolean {
  return /^gemini-(?:[3-9]|\d{2})/.test(model);
}
