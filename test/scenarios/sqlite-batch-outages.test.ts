import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { sqliteStorage } from 'signalbox/sqlite';
import { smallDisk } from '../support/small-disk.ts';
import { outlive } from '../support/storage-outage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('batches in a file lose nothing, and chats go on,', () => {
  it('when the disk is full for a while', { timeout: 120_000 }, async ({ skip }) => {
    using disk = smallDisk(64);
    if (disk === undefined) return skip('this user may not mount a small disk');
    const file = join(disk.path, 'batches.db');
    await outlive(sqliteStorage({ file }), { begin: () => disk.fill(), end: () => disk.free() });
  });

  it('when another process holds the file for a while', { timeout: 120_000 }, async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    const storage = sqliteStorage({ file, busyTimeoutMs: 300 });
    await storage.open();
    using other = new DatabaseSync(file);
    await outlive(storage, { begin: () => other.exec('BEGIN IMMEDIATE'), end: () => other.exec('COMMIT') });
  });
});
