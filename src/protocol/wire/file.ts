import * as z from 'zod';
import type { DeletedFile, FileList, FileObject } from '../file.ts';
import { count, seconds, wireObject } from './wire-object.ts';

/** Schema of {@link FileObject}. */
export const fileSchema = wireObject<FileObject>(
  {
    id: z.string().regex(/^file-/),
    object: z.literal('file'),
    bytes: count,
    created_at: seconds,
    expires_at: seconds,
    filename: z.string(),
    purpose: z.enum(['batch', 'batch_output']),
    status: z.literal('processed'),
  },
  {},
);

/** Schema of {@link FileList}. */
export const fileListSchema = wireObject<FileList>(
  {
    object: z.literal('list'),
    data: z.array(fileSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  },
  {},
);

/** Schema of {@link DeletedFile}. */
export const deletedFileSchema = wireObject<DeletedFile>(
  { id: z.string(), object: z.literal('file'), deleted: z.literal(true) },
  {},
);
