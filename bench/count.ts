import { createHook } from 'node:async_hooks';
import { type Profiler, Session } from 'node:inspector';

/**
 * Loaded into a server under test beside its own program. Counts, between two messages of the parent, what is allocated
 * (sampled, with what the collector has taken since), what of it outlives the young generation, how many promises and
 * timers are made, which functions are called how often, and where the time goes.
 */
interface Node {
  readonly selfSize: number;
  readonly children: readonly Node[];
}

const session = new Session();
session.connect();
const made = { promises: 0, timers: 0 };
const hook = createHook({
  init(_id, type) {
    if (type === 'PROMISE') made.promises += 1;
    else if (type === 'Timeout') made.timers += 1;
  },
});

function sizeOf({ selfSize, children }: Node): number {
  return children.reduce((size, child) => size + sizeOf(child), selfSize);
}

/** How often a function was called. */
function countOf({ ranges }: Profiler.FunctionCoverage): number {
  return ranges[0]?.count ?? 0;
}

process.on('message', (message) => {
  switch (message) {
    case 'count things':
      Object.assign(made, { promises: 0, timers: 0 });
      hook.enable();
      return process.send?.({});
    case 'things':
      hook.disable();
      return process.send?.(made);
    case 'count bytes':
    case 'count survivors':
      return session.post(
        'HeapProfiler.startSampling',
        {
          samplingInterval: 8_192,
          includeObjectsCollectedByMajorGC: true,
          includeObjectsCollectedByMinorGC: message === 'count bytes',
        } as object,
        () => process.send?.({}),
      );
    case 'bytes':
      return session.post('HeapProfiler.stopSampling', (_error, { profile }) =>
        process.send?.({ bytes: sizeOf(profile.head) }),
      );
    case 'count calls':
      session.post('Profiler.enable');
      return session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false }, () =>
        process.send?.({}),
      );
    case 'calls':
      return session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
        process.send?.(result.map(({ url, functions }) => ({ url, counts: functions.map(countOf) })));
        session.post('Profiler.stopPreciseCoverage');
      });
    case 'profile':
      session.post('Profiler.enable');
      session.post('Profiler.setSamplingInterval', { interval: 500 });
      return session.post('Profiler.start', () => process.send?.({}));
    case 'profiled':
      return session.post('Profiler.stop', (_error, { profile }) => process.send?.(profile));
    default:
      return undefined;
  }
});
