import { DatabaseSync } from 'node:sqlite';
import type { BatchStoreFaults } from 'signalbox/testing';
import type { SmallDisk } from './small-disk.ts';

/**
 * What can happen to a file: another process holds it, and its disk is full, where it is on a disk that can be filled.
 *
 * @param file - Gives its path.
 */
export function sqliteFaults(file: () => string, disk: SmallDisk | undefined): BatchStoreFaults {
  const faults: BatchStoreFaults = {
    refuseWrites() {
      const other = new DatabaseSync(file());
      other.exec('PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE');
      return Promise.resolve(() => Promise.resolve(other.close()));
    },
  };
  if (disk === undefined) return faults;
  return {
    ...faults,
    fill() {
      disk.fill();
      return Promise.resolve(() => Promise.resolve(disk.free()));
    },
  };
}
