import type { JsonObject } from '../../protocol/json.ts';
import { type BatchApi, unreadable } from '../batch-api.ts';
import type { NativeCall, NativeReply, NativeResult } from '../native-batches.ts';
import { badAnswer, textOf } from './batch-object.ts';
import { resultOfLine } from './batch-results.ts';
import { uploadOf } from './batch-upload.ts';

/** Statuses of deletions after which a file is gone. */
const GONE = new Set([404, 410]);

/** The files around batches: one with the requests goes up, those with answers and failures come down. */
export class BatchFiles {
  readonly #calls: BatchApi;

  constructor(calls: BatchApi) {
    this.#calls = calls;
  }

  /** Uploads the lines of a file, and gives its id. */
  async upload(call: NativeCall, lines: readonly string[]): Promise<NativeReply<string>> {
    const reply = await this.#calls.json(call, { method: 'POST', path: '/files', ...uploadOf(lines) });
    if (!reply.ok) return reply;
    const id = textOf(reply.value['id']);
    return id === undefined ? badAnswer('a file without an id') : { ok: true, value: id };
  }

  /**
   * The results in the files of a batch. Answers are in one of them, failures in the other, and either may be missing.
   *
   * @param retrieved - The batch.
   * @param fields - Names of the fields with the ids of the files.
   */
  async *results(
    call: NativeCall,
    retrieved: NativeReply<JsonObject>,
    fields: readonly string[],
  ): AsyncGenerator<NativeResult, void, undefined> {
    if (!retrieved.ok) throw unreadable(retrieved.failure);
    for (const field of fields) {
      const file = textOf(retrieved.value[field]);
      if (file !== undefined)
        yield* this.#calls.lines(call, `/files/${encodeURIComponent(file)}/content`, resultOfLine);
    }
  }

  /** Deletes a file. One that is gone already is no failure. */
  async delete(call: NativeCall, file: string): Promise<NativeReply<undefined>> {
    const reply = await this.#calls.json(call, { method: 'DELETE', path: `/files/${encodeURIComponent(file)}` });
    return reply.ok || isGone(reply) ? { ok: true, value: undefined } : reply;
  }

  /** Deletes all files around a batch, which itself stays. */
  async deleteAll(
    call: NativeCall,
    retrieved: NativeReply<JsonObject>,
    input: unknown,
    fields: readonly string[],
  ): Promise<NativeReply<'unsupported'>> {
    if (!retrieved.ok && !isGone(retrieved)) return retrieved;
    const others = retrieved.ok ? fields.map((field) => retrieved.value[field]) : [];
    for (const file of [input, ...others].map(textOf)) {
      const deleted = file === undefined ? undefined : await this.delete(call, file);
      if (deleted?.ok === false) return deleted;
    }
    return { ok: true, value: 'unsupported' };
  }
}

function isGone(reply: NativeReply<unknown>): boolean {
  return !reply.ok && GONE.has(reply.failure.status ?? 0);
}
