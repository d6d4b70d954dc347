import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Loaded into a server under test: tells its memory without what the collector would take next. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('message', (message) => {
  if (message !== 'memory') return;
  // Twice: what is finalised by the first goes with the second.
  collect();
  collect();
  process.send?.({ rss: process.memoryUsage.rss() });
});
