import { findPostgres } from '../test/support/servers.ts';
import { printProcesses } from './batch-processes.ts';
import { printItemsPerSecond } from './batch-items.ts';
import { printLargeBatch } from './batch-large.ts';
import { printUploads } from './batch-uploads.ts';

/**
 * What batches cost: taking 200 MB, requests per second, several processes on one batch, and the memory of a large one.
 * PostgreSQL is left out where it is not installed.
 * Usage: npm run bench:batch [-- uploads | items | processes | large [requests] [seconds for each storage]]
 */
const [, , only, requests = '20000', seconds = '120'] = process.argv;

if (only === undefined || only === 'uploads') await printUploads();
if (only === undefined || only === 'items') await printItemsPerSecond();
if ((only === undefined || only === 'processes') && findPostgres() !== undefined) await printProcesses();
if (only === undefined || only === 'large') await printLargeBatch(Number(requests), Number(seconds));
